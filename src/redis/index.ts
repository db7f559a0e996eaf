import type { Clock } from '../engine/clock';
import type { DictionaryStore } from '../engine/dictionary-store';
import type { RecentsStore } from '../engine/recents-store';
import type { PermitsStore, StoreHealth, StoreOperations } from '../engine/store';
import { RedisConnection } from './connection';
import { dictionaryScripts, RedisDictionaryStore } from './dictionary-store';
import { RedisNode } from './node';
import { Notifications } from './notifications';
import { permitsScripts, RedisPermitsStore } from './permits-store';
import { recentsScripts, RedisRecentsStore } from './recents-store';

export interface StoreOptions {
  /** `redis://…`, `rediss://…`, or the path of a unix socket. */
  readonly url: string;
  /** Of a replica that answers queries of dictionaries; undefined: there is none. */
  readonly replicaUrl: string | undefined;
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

/** A replica that took over may lack this much: what `min-replicas-max-lag` lets through. */
const REPLICA_LAG_MS = 10_000;
/** For what else takes time between a grant and its loss. */
const QUARANTINE_SLACK_MS = 5000;

/** No lease that was granted before the store forgot is believed for longer than this after it. */
export function quarantineMs(longestTtlMs: number): number {
  return longestTtlMs + REPLICA_LAG_MS + QUARANTINE_SLACK_MS;
}

/**
 * Opens the store's two connections: one for commands, one that hears hints. Resolves when Redis answers;
 * rejects with a `StoreFailure` if it does not within `patienceMs`, closing what was opened.
 */
export async function connectStore(options: StoreOptions, patienceMs: number): Promise<Store> {
  const scripts = [...permitsScripts, ...recentsScripts, ...dictionaryScripts];
  const node = new RedisNode({ ...options, scripts });
  const { connection } = node;
  const permits = new RedisPermitsStore({ ...options, connection, guard: node.epochs });
  const recents = new RedisRecentsStore({ ...options, connection, retentionMs: options.recentsRetentionMs });
  // Nobody waits for it, and what it says of itself (that it is a replica) is no news.
  const replica =
    options.replicaUrl === undefined
      ? undefined
      : new RedisConnection({ ...options, url: options.replicaUrl, scripts: dictionaryScripts });
  const dictionaries = new RedisDictionaryStore({ ...options, connection, replica });
  const notifications = new Notifications({
    ...options,
    onLook: (resource, requestId) => permits.hint(resource, requestId),
    onAllowed: (allowed) => connection.setHints(allowed),
  });
  const close = () => {
    notifications.close();
    node.close();
    replica?.close();
  };
  try {
    await node.ready(patienceMs);
  } catch (error) {
    close();
    throw error;
  }
  return { permits, recents, dictionaries, node, close };
}
