import type { Clock } from '../../base/clock';
import type { EntryStore, RecentsStore } from '../../autocomplete/entry-store';
import type { LeaseStore } from '../../leases/lease-store';
import type { StoreHealth, StoreOperations } from '../../base/store-state';
import type { ClusterAddress, SentinelAddress, StoreAddress } from '../../base/redis-address';
import { RedisCluster } from './cluster';
import { ClusterNotifications, Notifications, type NotificationsOptions } from './notifications';
import type { CommandMeters } from '../command-meters';
import { RedisConnection } from '../connection';
import { redisUserOptions, type Security, singleEndpoint, tlsOptions } from '../endpoint';
import type { Commands, Script } from '../commands';
import { loadScripts } from '../../autocomplete/redis/entry-replies';
import { entryScripts, RedisEntryStore } from '../../autocomplete/redis/redis-entry-store';
import { RedisNode, type NodeOptions } from './node';
import { leaseScripts, RedisLeaseStore } from '../../leases/redis/redis-lease-store';
import { recentsScripts, RedisRecentsStore } from '../../autocomplete/redis/redis-recents';
import { connectorFor, Sentinels } from './sentinels';

export { CommandMeters } from '../command-meters';
export type { Security } from '../endpoint';
export { RedisPassword } from '../redis-password';
export { NotPermitted } from '../node/node-answers';
export { probeStore, type HostFinding } from '../endpoint';

export interface StoreOptions {
  readonly address: StoreAddress;
  /** Where the dictionaries are. Undefined: at `address`. */
  readonly dictionaryAddress: StoreAddress | undefined;
  /** A replica of the Redis with the dictionaries, for loads. Undefined: the primary serves all loads. */
  readonly replica: StoreAddress | undefined;
  readonly security: Security;
  /** The first part of every key, without colons and braces. */
  readonly prefix: string;
  /** The name of this process among the servers that share the store, without dots, colons and spaces. */
  readonly serverId: string;
  readonly commandTimeoutMs: number;
  /** How long grants pause when the store may have forgotten leases (ms): the result of `quarantineMs`. */
  readonly quarantineMs: number;
  /** The operator asserts that a store without data of this service was never used. */
  readonly storeIsNew: boolean;
  readonly retentionMs: number;
  /** How long a list of recents stays after the last add (ms); undefined: for ever. */
  readonly recentsRetentionMs: number | undefined;
  readonly clock: Clock;
  /** Counts the commands of each node. Default: nobody counts. */
  readonly meters?: CommandMeters | undefined;
  readonly onError: (error: Error) => void;
  /** Called with a sentence for the operator about the Redis of the dictionaries or the replica. */
  readonly onWarning?: (text: string) => void;
}

export interface Store {
  readonly permits: LeaseStore;
  readonly recents: RecentsStore;
  readonly entries: EntryStore;
  /** The health of the whole store. */
  readonly node: StoreHealth & StoreOperations;
  close(): void;
}

const scripts: readonly Script[] = [...leaseScripts, ...recentsScripts, ...entryScripts];

/** A replica that takes over may lack the writes of this time: the longest accepted `min-replicas-max-lag`. */
const REPLICA_LAG_MS = 10_000;
/** Margin for all smaller delays between a grant and the loss of the grant. */
const QUARANTINE_SLACK_MS = 5000;

/**
 * The longest time for which a client may believe in a lease after the store has lost the lease (ms). Different clock
 * rates need no margin here, not even for a ttl of 24 h: the offset of each lease is already shortened by the largest
 * difference, so no client believes in a lease for longer than its ttl on Redis's clock.
 */
export function quarantineMs(longestTtlMs: number): number {
  return longestTtlMs + REPLICA_LAG_MS + QUARANTINE_SLACK_MS;
}

/** The nodes of the store: they run commands and send hints. */
interface Nodes {
  readonly commands: Commands;
  readonly whole: StoreHealth & StoreOperations & Pick<RedisNode, 'ready' | 'setHints' | 'close'>;
  listen(options: ListenOptions): { close(): void };
  /** Closes the connections to the sentinels, which commands and hints share. */
  close(): void;
}

type ListenOptions = Omit<NotificationsOptions, 'endpoint'>;
type OpenOptions = Omit<StoreOptions, 'address'>;

/** The connections for dictionaries, if they have a Redis of their own. */
interface DictionaryNodes {
  readonly commands: Commands;
  readonly rights: Rights;
  close(): void;
}

type Rights = Pick<RedisConnection, 'missingRights' | 'onChange'>;

/** No other warning about the Redis of the dictionaries and the replica is shown. */
function warnOfMissingRights(rights: Rights, setting: string, onWarning: StoreOptions['onWarning']): void {
  let shown: string | undefined;
  rights.onChange(() => {
    const { missingRights } = rights;
    if (missingRights !== undefined && missingRights !== shown) onWarning?.(`${setting}: ${missingRights}`);
    shown = missingRights;
  });
}

function openNodes({ address, ...options }: StoreOptions): Nodes {
  switch (address.kind) {
    case 'single':
      return openSingle({ ...options, scripts, endpoint: singleEndpoint(address.url, options.security) });
    case 'sentinel':
      return openSentinel(address, options);
    case 'cluster':
      return openCluster(address, options);
  }
}

function openSingle(options: NodeOptions): Nodes {
  const node = new RedisNode(options);
  return {
    commands: node.connection.commands,
    whole: node,
    listen: (listenOptions) => new Notifications({ ...listenOptions, endpoint: options.endpoint }),
    close: () => undefined,
  };
}

function openSentinel(address: SentinelAddress, options: OpenOptions): Nodes {
  const { sentinels, endpoint } = sentinelEndpoint(address, options);
  const nodes = openSingle({ ...options, scripts, endpoint, topology: 'sentinel' });
  return { ...nodes, close: () => sentinels.close() };
}

/** The endpoint leads to the master that the sentinels name. */
function sentinelEndpoint(address: SentinelAddress, options: OpenOptions) {
  const tls = tlsOptions(address.tls, options.security);
  const user = options.security.sentinelUser;
  const sentinels = new Sentinels({ ...options, ...address, user, tls });
  const Connector = connectorFor(sentinels, tls);
  return {
    sentinels,
    endpoint: { Connector, db: address.db, ...redisUserOptions(address, options.security), ...tls },
  };
}

/** Opens the Redis of the dictionaries. This Redis has no leases, so it needs no epochs and no hints. */
function openDictionaryNodes(address: StoreAddress, options: OpenOptions): DictionaryNodes {
  const { security } = options;
  switch (address.kind) {
    case 'single': {
      const endpoint = singleEndpoint(address.url, security);
      const connection = new RedisConnection({ ...options, endpoint, scripts: entryScripts });
      return { commands: connection.commands, rights: connection, close: () => connection.close() };
    }
    case 'sentinel': {
      const { sentinels, endpoint } = sentinelEndpoint(address, options);
      const connection = new RedisConnection({
        ...options,
        endpoint,
        topology: 'sentinel',
        scripts: entryScripts,
      });
      const close = () => {
        connection.close();
        sentinels.close();
      };
      return { commands: connection.commands, rights: connection, close };
    }
    case 'cluster': {
      const cluster = new RedisCluster({ ...options, address, scripts: entryScripts, hasLeases: false });
      return { commands: cluster, rights: cluster, close: () => cluster.close() };
    }
  }
}

function openCluster(address: ClusterAddress, options: OpenOptions): Nodes {
  const { security } = options;
  const cluster = new RedisCluster({ ...options, address, scripts });
  return {
    commands: cluster,
    whole: cluster,
    listen: (listenOptions) => new ClusterNotifications({ ...listenOptions, cluster, address, security }),
    close: () => undefined,
  };
}

/** The start of the server does not wait for the replica. */
function openReplica({ replica, security, ...options }: StoreOptions): RedisConnection | undefined {
  if (replica?.kind !== 'single') return undefined;
  const endpoint = singleEndpoint(replica.url, security);
  return new RedisConnection({ ...options, endpoint, scripts: loadScripts });
}

/**
 * Opens two connections to each node of the store: one for commands, one for hints. If the node asks for replicas, a
 * third connection is open while a setting changes. Resolves when the store answers. The Redis of the dictionaries may
 * answer later. If the store does not answer within `patienceMs`, closes all connections and rejects with a
 * `StoreFailure`.
 */
export async function connectStore(options: StoreOptions, patienceMs: number): Promise<Store> {
  const nodes = openNodes(options);
  const { commands, whole } = nodes;
  const permits = new RedisLeaseStore({ ...options, commands, guard: 'of-node' });
  const recents = new RedisRecentsStore({ ...options, commands, retentionMs: options.recentsRetentionMs });
  const replica = openReplica(options);
  const { dictionaryAddress } = options;
  const dictionaryNodes = dictionaryAddress && openDictionaryNodes(dictionaryAddress, options);
  const { onWarning } = options;
  if (replica) warnOfMissingRights(replica, 'HOLDFAST_REDIS_REPLICA_URL', onWarning);
  if (dictionaryNodes) {
    warnOfMissingRights(dictionaryNodes.rights, 'HOLDFAST_DICTIONARY_REDIS_URL', onWarning);
  }
  const entries = new RedisEntryStore({
    ...options,
    commands: dictionaryNodes?.commands ?? commands,
    replica,
  });
  const notifications = nodes.listen({
    ...options,
    onMessage: (message) => permits.hint(message),
    onAllowed: (allowed) => whole.setHints(allowed),
  });
  const close = () => {
    notifications.close();
    whole.close();
    nodes.close();
    dictionaryNodes?.close();
    replica?.close();
  };
  try {
    await whole.ready(patienceMs);
  } catch (error) {
    close();
    throw error;
  }
  return { permits, recents, entries, node: whole, close };
}
