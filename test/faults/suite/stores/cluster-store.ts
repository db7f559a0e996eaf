import { Cluster } from 'ioredis';
import { oneOf, type Random } from '../../../../bench/support/random';
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
const BELIEVED_MS = 300;

/** Several masters with a replica each, which share the slots. */
export class ClusterStore implements FailoverStore {
  private believed: { readonly masters: readonly ClusterNode[]; readonly until: number } | undefined;

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
    client.on('error', () => undefined); // each command says itself that there is nobody
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

  /** In order: the master waits until its replica has all. */
  async handOver(master: RedisProcess): Promise<void> {
    const [replica] = await this.replicasOf(master);
    await replica?.command('CLUSTER', 'FAILOVER');
  }

  /** By force: the replica asks nobody. */
  async takeOver(replica: RedisProcess): Promise<void> {
    await replica.command('CLUSTER', 'FAILOVER', 'TAKEOVER');
  }

  /** Moves a slot that has keys to another master; how many keys went. */
  async moveSlot(random: Random): Promise<number | undefined> {
    this.believed = undefined; // a failover may just be over
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
    if (this.believed === undefined || performance.now() > this.believed.until) {
      const parts = Array.from({ length: MASTERS }, (_, i) => Math.floor(((i + 0.5) * SLOTS) / MASTERS));
      const found = await Promise.all(parts.map((slot) => this.cluster.masterOf(slot)));
      this.believed = { masters: [...new Set(found)], until: performance.now() + BELIEVED_MS };
    }
    return this.believed.masters;
  }
}
