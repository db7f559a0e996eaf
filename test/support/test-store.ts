import { systemClock } from '../../src/base/clock';
import {
  type AutocompleteStores,
  autocompleteScripts,
  openAutocompleteStores,
} from '../../src/autocomplete/redis/autocomplete-stores';
import type { LeaseStore } from '../../src/leases/lease-store';
import { leaseScripts, RedisLeaseStore } from '../../src/leases/redis/redis-lease-store';
import { openStoreRedis, type StoreRedis } from '../../src/redis/topology/open';
import { readConfig } from '../../src/server/config/config';
import { closeAll, eventually } from './eventually';
import { RedisProcess, serverUrl } from './processes/redis-process';
import { TcpProxy } from './proxy/tcp-proxy';

const START_TIMEOUT_MS = 60_000;

export interface TestStoreOptions {
  readonly serverId: string;
  readonly commandTimeoutMs: number;
  /** How long the start waits for Redis. Default: long enough for a machine with busy cores. */
  readonly patienceMs?: number;
  readonly onError?: (error: Error) => void;
  /** The first part of every key. Default: one for tests. */
  readonly prefix?: string;
}

/** The stores of all products. */
export interface Store extends Omit<AutocompleteStores, 'close'>, Pick<StoreRedis, 'node' | 'close'> {
  readonly permits: LeaseStore;
}

/** Connects one server's stores to a Redis that is new, so that the stores start without a quarantine. */
export async function connectTestStore(
  url: string,
  {
    serverId,
    commandTimeoutMs,
    patienceMs = START_TIMEOUT_MS,
    onError = () => undefined,
    prefix = 'test',
  }: TestStoreOptions,
): Promise<Store> {
  const options = {
    dictionaryAddress: undefined,
    replica: undefined,
    security: { tls: undefined, sentinelUser: undefined },
    prefix,
    serverId,
    commandTimeoutMs,
    quarantineMs: 600_000,
    storeIsNew: true,
    retentionMs: 3_600_000,
    recentsRetentionMs: undefined,
    clock: systemClock,
    onError,
  };
  const { address } = readConfig({ HOLDFAST_REDIS_URL: url }).redis;
  const redis = openStoreRedis(address, { ...options, scripts: [...leaseScripts, ...autocompleteScripts] });
  const { commands, node } = redis;
  const permits = new RedisLeaseStore({ ...options, commands, guard: 'of-node' });
  redis.onHint((message) => permits.hint(message));
  const { recents, entries, ...stores } = openAutocompleteStores(commands, options);
  const close = (): void => {
    redis.close();
    stores.close();
  };
  await redis.ready(patienceMs).catch((error: unknown) => {
    close();
    throw error;
  });
  return { permits, recents, entries, node, close };
}

/** A replica that is silent for this time no longer counts. The time is longer than every test. */
const MAX_LAG_SECONDS = 3600;
const WAIT = { timeoutMs: 60_000 };

export interface MasterAndReplicaOptions {
  /** The setting min-replicas-to-write of the master. Default: 1. */
  readonly minReplicas?: number;
}

export interface StoreServerOptions {
  /** Default: 1 s. */
  readonly commandTimeoutMs?: number;
  /** Default: the servers' own address of the master. */
  readonly url?: string;
}

/**
 * A master and its replica. Servers reach the master through the proxy `front`, and the replica reaches the master
 * through the proxy `link`, so that a test can lead servers to the replica, and cut the replica off.
 */
export class MasterAndReplica {
  private readonly stores: Store[] = [];
  private isFrozen = false;

  private constructor(
    readonly master: RedisProcess,
    readonly replica: RedisProcess,
    readonly front: TcpProxy,
    readonly link: TcpProxy,
  ) {}

  static async start({ minReplicas = 1 }: MasterAndReplicaOptions = {}): Promise<MasterAndReplica> {
    const args = ['--repl-diskless-sync-delay', '0', '--min-replicas-max-lag', String(MAX_LAG_SECONDS)];
    const [master, replica] = await Promise.all([
      RedisProcess.start({ args, appendfsync: 'no' }),
      RedisProcess.start({ args, appendfsync: 'no' }),
    ]);
    const front = await TcpProxy.open({ targetPort: master.port, protocol: 'redis' });
    const link = await TcpProxy.open({ targetPort: master.port, protocol: 'tcp' });
    const pair = new MasterAndReplica(master, replica, front, link);
    try {
      await replica.command('REPLICAOF', '127.0.0.1', link.port);
      await pair.inSync();
      await master.command('CONFIG', 'SET', 'min-replicas-to-write', minReplicas);
    } catch (error) {
      await pair.close();
      throw error;
    }
    return pair;
  }

  /** One server's store. The first server may start without a quarantine. */
  async connect({ commandTimeoutMs = 1000, url }: StoreServerOptions = {}): Promise<Store> {
    const serverId = `s${this.stores.length + 1}`;
    const store = await connectTestStore(url ?? serverUrl(this.front.address), {
      serverId,
      commandTimeoutMs,
    });
    store.permits.listen({
      recheck: () => undefined,
      granted: () => undefined,
      changed: () => undefined,
      mayHaveMissedNews: () => undefined,
      workLeft: () => undefined,
    });
    this.stores.push(store);
    return store;
  }

  /** Freezes the link: the master still counts the replica, but the replica gets no writes from here on. */
  async freezeLink(): Promise<void> {
    if (this.isFrozen) return;
    await this.inSync();
    this.isFrozen = true;
    this.link.blackHole('both');
  }

  /** Delivers the writes of the time of the freeze. */
  thawLink(): void {
    this.isFrozen = false;
    this.link.passEverything();
  }

  /** Makes the replica the master, without the writes that a frozen link held, and leads the servers to it. */
  async failOver(): Promise<void> {
    this.link.refuseNew();
    this.link.cutAll();
    await this.replica.command('CONFIG', 'SET', 'min-replicas-to-write', 0);
    await this.replica.command('REPLICAOF', 'NO', 'ONE');
    this.front.leadTo(this.replica.port);
    this.front.cutAll();
  }

  async close(): Promise<void> {
    for (const store of this.stores) store.close();
    await closeAll(
      () => this.front.close(),
      () => this.link.close(),
      () => this.master.close(),
      () => this.replica.close(),
    );
  }

  /** Waits until the replica has all writes of the master. */
  async inSync(): Promise<void> {
    const isInSync = async (): Promise<boolean> => {
      await this.master.command('PING');
      return Number(await this.master.command('WAIT', 1, 1000)) === 1;
    };
    await eventually('the replica to be in sync', isInSync, WAIT);
  }
}
