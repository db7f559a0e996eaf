import type { Clock } from '../engine/clock';
import type { DictionaryStore } from '../engine/autocomplete/dictionary-store';
import type { RecentsStore } from '../engine/autocomplete/recents-store';
import type { PermitsStore } from '../engine/leases/permits-store';
import type { StoreHealth, StoreOperations } from '../engine/store-health';
import { singleEndpoint, tlsOptions, userOptions, type Security, type StoreAddress } from './address';
import { RedisCluster } from './topology/cluster';
import { ClusterNotifications } from './topology/cluster-notifications';
import { RedisConnection, type Commands } from './connection/connection';
import type { Script } from './connection/operation';
import { dictionaryScripts, RedisDictionaryStore } from './autocomplete/dictionary-store';
import { RedisNode, type NodeOptions } from './topology/node';
import { Notifications, type NotificationsOptions } from './topology/notifications';
import { permitsScripts, RedisPermitsStore } from './leases/permits-store';
import { recentsScripts, RedisRecentsStore } from './autocomplete/recents-store';
import { connectorFor } from './topology/sentinel-connector';
import { Sentinels } from './topology/sentinels';

export type { Security } from './address';

export interface StoreOptions {
  /** One Redis, the one that Sentinel names, or a Cluster. */
  readonly address: StoreAddress;
  /** Of a replica that answers queries of dictionaries: `redis://…`; undefined: there is none. */
  readonly replica: StoreAddress | undefined;
  readonly security: Security;
  /** First part of every key; no colon and no brace. */
  readonly prefix: string;
  /** Names this process among the servers that share the store; no dot, colon or space. */
  readonly serverId: string;
  readonly commandTimeoutMs: number;
  /** How long grants pause once the store may have forgotten leases; see `quarantineMs`. */
  readonly quarantineMs: number;
  /** The operator's word that a store that knows nothing of us was never used. */
  readonly storeIsNew: boolean;
  readonly retentionMs: number;
  /** After which a list of recents goes that nothing is added to; undefined: never. */
  readonly recentsRetentionMs: number | undefined;
  readonly clock: Clock;
  readonly onError: (error: Error) => void;
}

export interface Store {
  readonly permits: PermitsStore;
  readonly recents: RecentsStore;
  readonly dictionaries: DictionaryStore;
  /** Of the store as a whole. */
  readonly node: StoreHealth & StoreOperations;
  close(): void;
}

const scripts: readonly Script[] = [...permitsScripts, ...recentsScripts, ...dictionaryScripts];

/** A replica that took over may lack this much: what `min-replicas-max-lag` lets through. */
const REPLICA_LAG_MS = 10_000;
/** For what else takes time between a grant and its loss. */
const QUARANTINE_SLACK_MS = 5000;

/** No lease that was granted before the store forgot is believed for longer than this after it. */
export function quarantineMs(longestTtlMs: number): number {
  return longestTtlMs + REPLICA_LAG_MS + QUARANTINE_SLACK_MS;
}

/** The nodes of the store: where commands go, and how hints come back. */
interface Nodes {
  readonly commands: Commands;
  readonly whole: StoreHealth & StoreOperations & Pick<RedisNode, 'ready' | 'setHints' | 'close'>;
  listen(options: Listening): { close(): void };
  /** Ends what belongs to both. */
  close(): void;
}

type Listening = Omit<NotificationsOptions, 'url'>;
type Opening = Omit<StoreOptions, 'address'>;
type Address<Kind extends StoreAddress['kind']> = Extract<StoreAddress, { kind: Kind }>;

function openNodes({ address, ...options }: StoreOptions): Nodes {
  switch (address.kind) {
    case 'single':
      return openSingle({ ...options, scripts, url: singleEndpoint(address.url, options.security) });
    case 'sentinel':
      return openSentinel(address, options);
    case 'cluster':
      return openCluster(address, options);
  }
}

function openSingle(options: NodeOptions): Nodes {
  const node = new RedisNode(options);
  return {
    commands: node.connection,
    whole: node,
    listen: (listening) => new Notifications({ ...listening, url: options.url }),
    close: () => undefined,
  };
}

function openSentinel(address: Address<'sentinel'>, options: Opening): Nodes {
  const tls = tlsOptions(address.tls, options.security);
  const user = options.security.sentinelUser;
  const sentinels = new Sentinels({ ...options, ...address, user, tls });
  const Connector = connectorFor(sentinels, tls);
  const url = { Connector, db: address.db, ...userOptions(address), ...tls };
  const nodes = openSingle({ ...options, scripts, url, topology: 'sentinel' });
  return { ...nodes, close: () => sentinels.close() };
}

function openCluster(address: Address<'cluster'>, options: Opening): Nodes {
  const { security } = options;
  const cluster = new RedisCluster({ ...options, address, scripts });
  return {
    commands: cluster,
    whole: cluster,
    listen: (listening) => new ClusterNotifications({ ...listening, cluster, address, security }),
    close: () => undefined,
  };
}

/** Nobody waits for it, and what it says of itself (that it is a replica) is no news. */
function openReplica({ replica, security, ...options }: StoreOptions): RedisConnection | undefined {
  if (replica?.kind !== 'single') return undefined;
  const url = singleEndpoint(replica.url, security);
  return new RedisConnection({ ...options, url, scripts: dictionaryScripts });
}

/**
 * Opens two connections to each node of the store: one for commands, one that hears hints. Resolves when it answers;
 * rejects with a `StoreFailure` if it does not within `patienceMs`, closing what was opened.
 */
export async function connectStore(options: StoreOptions, patienceMs: number): Promise<Store> {
  const nodes = openNodes(options);
  const { commands: connection, whole } = nodes;
  const permits = new RedisPermitsStore({ ...options, connection, guard: 'of-node' });
  const recents = new RedisRecentsStore({ ...options, connection, retentionMs: options.recentsRetentionMs });
  const replica = openReplica(options);
  const dictionaries = new RedisDictionaryStore({ ...options, connection, replica });
  const notifications = nodes.listen({
    ...options,
    onLook: (resource, requestId) => permits.hint(resource, requestId),
    onAllowed: (allowed) => whole.setHints(allowed),
  });
  const close = () => {
    notifications.close();
    whole.close();
    nodes.close();
    replica?.close();
  };
  try {
    await whole.ready(patienceMs);
  } catch (error) {
    close();
    throw error;
  }
  return { permits, recents, dictionaries, node: whole, close };
}
