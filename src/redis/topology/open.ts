import type { Clock } from '../../base/clock';
import type { ClusterAddress, SentinelAddress, StoreAddress } from '../../base/redis-address';
import type { StoreHealth, StoreOperations } from '../../base/store-state';
import type { CommandMeters } from '../command-meters';
import type { Commands } from '../commands';
import type { Script } from '../script';
import { RedisConnection } from '../connection';
import { redisUserOptions, type Security, singleEndpoint, tlsOptions } from '../endpoint';
import { RedisCluster } from './cluster';
import { RedisNode, type NodeOptions } from './node';
import { ClusterNotifications, Notifications, type NotificationsOptions } from './notifications';
import { connectorFor, Sentinels } from './sentinels';

export { CommandMeters } from '../command-meters';
export type { Security } from '../endpoint';
export { RedisPassword } from '../redis-password';
export { NotPermitted } from '../node/node-answers';
export { probeStore, type HostFinding } from '../endpoint';

export interface RedisSettings {
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
  readonly clock: Clock;
  /** Counts the commands of each node. Default: nobody counts. */
  readonly meters?: CommandMeters | undefined;
  readonly onError: (error: Error) => void;
  /** Called with a sentence for the operator about a Redis without leases. */
  readonly onWarning?: ((text: string) => void) | undefined;
}

/** `scripts`: the scripts of all products that use this Redis. Each new connection loads them. */
type OpenOptions = RedisSettings & { readonly scripts: readonly Script[] };

/** The Redis of the leases: one node, a master behind sentinels, or a Cluster. Products make their stores from it. */
export interface StoreRedis {
  readonly commands: Commands;
  /** The health of the whole store. */
  readonly node: StoreHealth & StoreOperations;
  /** Calls the listener with each hint of another server to this server. */
  onHint(listener: (message: string) => void): void;
  /** Resolves when the store answers. Rejects with a `StoreFailure` after `timeoutMs`. */
  ready(timeoutMs: number): Promise<void>;
  close(): void;
}

/** A Redis without leases, so it needs no epochs and no hints. */
export interface PlainRedis {
  readonly commands: Commands;
  readonly reachable: boolean;
  close(): void;
}

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

/**
 * Opens two connections to each node of the store: one for commands, one for hints. If the node asks for replicas, a
 * third connection is open while a setting changes.
 */
export function openStoreRedis(address: StoreAddress, options: OpenOptions): StoreRedis {
  const { commands, whole, ...nodes } = openNodes(address, options);
  const listeners: ((message: string) => void)[] = [];
  const notifications = nodes.listen({
    ...options,
    onMessage: (message) => {
      for (const listener of listeners) listener(message);
    },
    onAllowed: (allowed) => whole.setHints(allowed),
  });
  return {
    commands,
    node: whole,
    onHint: (listener) => void listeners.push(listener),
    ready: (timeoutMs) => whole.ready(timeoutMs),
    close: () => {
      notifications.close();
      whole.close();
      nodes.close();
    },
  };
}

/**
 * Opens one connection to each node, which may answer later. `setting` names the address in warnings about rights that
 * the Redis user lacks. No other warning about this Redis is shown.
 */
export function openPlainRedis(address: StoreAddress, setting: string, options: OpenOptions): PlainRedis {
  const { redis, commands, close } = openPlain(address, options);
  let shown: string | undefined;
  redis.onChange(() => {
    const { missingRights } = redis;
    if (missingRights !== undefined && missingRights !== shown) {
      options.onWarning?.(`${setting}: ${missingRights}`);
    }
    shown = missingRights;
  });
  return {
    commands,
    get reachable() {
      return redis.reachable;
    },
    close,
  };
}

function openPlain(address: StoreAddress, options: OpenOptions) {
  if (address.kind === 'cluster') {
    const redis = new RedisCluster({ ...options, address, hasLeases: false });
    return { redis, commands: redis, close: () => redis.close() };
  }
  if (address.kind === 'single') {
    const endpoint = singleEndpoint(address.url, options.security);
    const redis = new RedisConnection({ ...options, endpoint });
    return { redis, commands: redis.commands, close: () => redis.close() };
  }
  const { sentinels, endpoint } = sentinelEndpoint(address, options);
  const redis = new RedisConnection({ ...options, endpoint, topology: 'sentinel' });
  const close = (): void => {
    redis.close();
    sentinels.close();
  };
  return { redis, commands: redis.commands, close };
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

function openNodes(address: StoreAddress, options: OpenOptions): Nodes {
  switch (address.kind) {
    case 'single':
      return openSingle({ ...options, endpoint: singleEndpoint(address.url, options.security) });
    case 'sentinel': {
      const { sentinels, endpoint } = sentinelEndpoint(address, options);
      const nodes = openSingle({ ...options, endpoint, topology: 'sentinel' });
      return { ...nodes, close: () => sentinels.close() };
    }
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

function openCluster(address: ClusterAddress, options: OpenOptions): Nodes {
  const { security } = options;
  const cluster = new RedisCluster({ ...options, address });
  return {
    commands: cluster,
    whole: cluster,
    listen: (listenOptions) => new ClusterNotifications({ ...listenOptions, cluster, address, security }),
    close: () => undefined,
  };
}
