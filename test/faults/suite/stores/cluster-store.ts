import { Cluster } from 'ioredis';
import { oneOf, type Random } from '../../../support/random';
import {
  RedisClusterProcesses,
  type RedisClusterOptions,
  type ClusterNode,
} from '../../../support/processes/redis-cluster';
import type { RedisProcess } from '../../../support/processes/redis-process';
import type { FailoverStore } from './store';

const MASTERS = 3;
const SLOTS = 16_384;
const COMMAND_TIMEOUT_MS = 5000;
/** The answers of the nodes are cached for this long. */
const CACHE_MS = 300;

/** Several masters, which share the slots and have one replica each. */
export class ClusterStore implements FailoverStore {
  private cached: { readonly masters: readonly ClusterNode[]; readonly until: number } | undefined;

  private constructor(
    private readonly cluster: RedisClusterProcesses,
    private readonly client: Cluster,
  ) {}

  static async start(options: Pick<RedisClusterOptions, 'args' | 'env'>): Promise<ClusterStore> {
    const cluster = await RedisClusterProcesses.start({ ...options, masters: MASTERS, replicas: 1 });
    const client = new Cluster(
      cluster.nodes.map(({ redis: { port } }) => ({ host: '127.0.0.1', port })),
      {
        clusterRetryStrategy: () => 100,
        redisOptions: { commandTimeout: COMMAND_TIMEOUT_MS, maxRetriesPerRequest: 1, stringNumbers: true },
      },
    );
    client.on('error', () => undefined); // Each command rejects with the error of its connection.
    return new ClusterStore(cluster, client);
  }

  get url(): string {
    return this.cluster.url;
  }

  async masters(): Promise<readonly RedisProcess[]> {
    return (await this.masterNodes()).map(({ redis }) => redis);
  }

  async replicasOf(master: RedisProcess): Promise<readonly RedisProcess[]> {
    const node = this.cluster.nodes.find(({ redis }) => redis === master);
    return node === undefined ? [] : [(await this.cluster.replicaOf(node)).redis];
  }

  /** An orderly failover: the master waits until its replica is in sync. */
  async handOver(master: RedisProcess): Promise<void> {
    const [replica] = await this.replicasOf(master);
    await replica?.command('CLUSTER', 'FAILOVER');
  }

  /** A forced failover: the replica does not ask the other nodes. */
  async takeOver(replica: RedisProcess): Promise<void> {
    await replica.command('CLUSTER', 'FAILOVER', 'TAKEOVER');
  }

  /** Moves a slot with keys to another master. Resolves to the number of moved keys. */
  async moveSlot(random: Random): Promise<number | undefined> {
    this.cached = undefined; // The cached masters may be older than the last failover.
    const masters = await this.masterNodes();
    const source = oneOf(random, masters);
    const targets = masters.filter((node) => node !== source);
    const key = (await source.redis.command('RANDOMKEY')) as string | null;
    if (key === null || targets.length === 0) return undefined;
    const slot = Number(await source.redis.command('CLUSTER', 'KEYSLOT', key));
    const count = Number(await source.redis.command('CLUSTER', 'COUNTKEYSINSLOT', slot));
    await this.cluster.moveSlot(slot, oneOf(random, targets));
    return count;
  }

  command(...[name, ...args]: Parameters<RedisProcess['command']>): Promise<unknown> {
    return this.client.call(name, args);
  }

  async close(): Promise<void> {
    this.client.disconnect();
    await this.cluster.close();
  }

  private async masterNodes(): Promise<readonly ClusterNode[]> {
    if (this.cached === undefined || performance.now() > this.cached.until) {
      const parts = Array.from({ length: MASTERS }, (_, i) => Math.floor(((i + 0.5) * SLOTS) / MASTERS));
      const found = await Promise.all(parts.map((slot) => this.cluster.masterOf(slot)));
      this.cached = { masters: [...new Set(found)], until: performance.now() + CACHE_MS };
    }
    return this.cached.masters;
  }
}
