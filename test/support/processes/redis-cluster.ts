import { eventually } from '../eventually';
import { freePort } from './child-program';
import { credentials, RedisProcess, tlsArguments } from './redis-process';

export interface RedisClusterOptions {
  /** The number of masters with slots. Default 3. */
  readonly masters?: number;
  /** The number of replicas of each master. Default 0. */
  readonly replicas?: number;
  /** The number of masters without slots. Default 0. */
  readonly spares?: number;
  /** `url` uses TLS. */
  readonly secure?: boolean;
  /** Added to the arguments of each redis-server. */
  readonly args?: readonly string[];
  /** Added to the environment of each redis-server. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface ClusterNode {
  readonly redis: RedisProcess;
  readonly id: string;
  /** The address that other nodes and clients use. */
  readonly address: string;
}

const SLOTS = 16_384;
/** A node that is silent for longer than this counts as failed. */
export const NODE_TIMEOUT_MS = 1000;
const MEETING_TIMEOUT_MS = 60_000;
/** The timeout is short, because `masterOf` also asks nodes that a test has paused. */
const COMMAND_TIMEOUT_MS = 5_000;

interface StartedNode extends ClusterNode {
  readonly bus: number;
  readonly port: number;
}

/** A private Redis Cluster. The slots of live masters stay available while another master is down. */
export class RedisClusterProcesses {
  private constructor(
    /** In the order of the start: masters, replicas, spares. */
    readonly nodes: readonly ClusterNode[],
    private readonly secure: boolean,
  ) {}

  static async start(options: RedisClusterOptions = {}): Promise<RedisClusterProcesses> {
    const { masters = 3, replicas = 0, spares = 0, secure = false, args = [], env = {} } = options;
    const count = masters * (1 + replicas) + spares;
    const started = await Promise.allSettled(
      Array.from({ length: count }, () => startNode(secure, args, env)),
    );
    const nodes = started.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    const cluster = new RedisClusterProcesses(nodes, secure);
    try {
      for (const one of started) if (one.status === 'rejected') throw one.reason;
      await cluster.join(nodes, masters, spares);
    } catch (error) {
      await cluster.close();
      throw error;
    }
    return cluster;
  }

  /** A value for HOLDFAST_REDIS_URL with the addresses of three nodes. */
  get url(): string {
    const hosts = this.nodes.slice(0, 3).map(({ address }) => address);
    return `${this.secure ? 'rediss' : 'redis'}+cluster://${credentials}${hosts.join(',')}`;
  }

  /** The slot's master in the view of most nodes that answer. */
  async masterOf(slot: number): Promise<ClusterNode> {
    const votes = new Map<ClusterNode, number>();
    await Promise.allSettled(
      this.nodes.map(async ({ redis }) => {
        const owner = await this.ownerAt(redis, slot);
        if (owner) votes.set(owner, (votes.get(owner) ?? 0) + 1);
      }),
    );
    const [winner] = [...votes].sort((a, b) => b[1] - a[1])[0] ?? [];
    if (winner === undefined) throw new Error(`no node knows the master of slot ${slot}`);
    return winner;
  }

  /** The nodes that answer and are masters. */
  async masters(): Promise<RedisProcess[]> {
    const found = await Promise.allSettled(
      this.nodes.map(async ({ redis }) =>
        String(await redis.command('ROLE')).startsWith('master') ? [redis] : [],
      ),
    );
    return found.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
  }

  async replicaOf(master: ClusterNode): Promise<ClusterNode> {
    const lines = String(await master.redis.command('CLUSTER', 'NODES')).split('\n');
    const line = lines.find((one) => one.includes(' slave ') && one.split(' ')[3] === master.id);
    const replica = this.nodes.find(({ id }) => line?.startsWith(id));
    if (!replica) throw new Error(`the node ${master.address} has no replica`);
    return replica;
  }

  /** Moves a slot with all its keys, as redis-cli does. `between` runs when the first key has moved. */
  async moveSlot(slot: number, target: ClusterNode, between?: () => Promise<void>): Promise<void> {
    await this.moveSlotBy(slot, target, async (source, move) => {
      for (let isFirst = true; ; isFirst = false) {
        const keys = await keysInSlot(source, slot, isFirst ? 1 : 100);
        if (keys.length === 0) break;
        await move(keys);
        if (isFirst) await between?.();
      }
    });
  }

  /** Moves a slot key by key. `pick` chooses the next key of the given keys. `between` runs after each key. */
  async moveKeyByKey(
    slot: number,
    target: ClusterNode,
    pick: (keys: readonly string[]) => string,
    between: () => Promise<void>,
  ): Promise<void> {
    await this.moveSlotBy(slot, target, async (source, move) => {
      for (;;) {
        const keys = await keysInSlot(source, slot, 1000);
        if (keys.length === 0) break;
        await move([pick(keys)]);
        await between();
      }
    });
  }

  /** After an earlier move, the nodes disagree for a moment, and refuse the next move. */
  private async agreedMasterOf(slot: number, target: ClusterNode): Promise<ClusterNode> {
    let master = await this.masterOf(slot);
    await eventually('the nodes to agree on the master of the slot', async () => {
      master = await this.masterOf(slot);
      const owners = [await this.ownerAt(master.redis, slot), await this.ownerAt(target.redis, slot)];
      return owners.every((owner) => owner === master);
    });
    return master;
  }

  /** `moveKeys` moves all keys. */
  private async moveSlotBy(
    slot: number,
    target: ClusterNode,
    moveKeys: (source: ClusterNode, move: (keys: readonly string[]) => Promise<unknown>) => Promise<void>,
  ): Promise<void> {
    const source = await this.agreedMasterOf(slot, target);
    if (source === target) return;
    await target.redis.command('CLUSTER', 'SETSLOT', slot, 'IMPORTING', source.id);
    await source.redis.command('CLUSTER', 'SETSLOT', slot, 'MIGRATING', target.id);
    const { port } = target.redis;
    await moveKeys(source, (keys) =>
      source.redis.command('MIGRATE', '127.0.0.1', port, '', 0, 5000, 'KEYS', ...keys),
    );
    // The target gets the change first. If the source gets the change first, the target redirects clients back to the
    // source.
    await target.redis.command('CLUSTER', 'SETSLOT', slot, 'NODE', target.id);
    await source.redis.command('CLUSTER', 'SETSLOT', slot, 'NODE', target.id);
  }

  async close(): Promise<void> {
    await Promise.all(this.nodes.map(({ redis }) => redis.close()));
  }

  private async ownerAt(redis: RedisProcess, slot: number): Promise<ClusterNode | undefined> {
    const ranges = (await redis.command('CLUSTER', 'SLOTS')) as [string, string, [string, string, string]][];
    const range = ranges.find(([from, to]) => Number(from) <= slot && slot <= Number(to));
    return this.nodes.find(({ id }) => id === range?.[2][2]);
  }

  /** Assigns the slots, introduces the nodes to each other, and attaches the replicas. */
  private async join(nodes: readonly StartedNode[], masters: number, spares: number): Promise<void> {
    const [first, ...others] = nodes as [StartedNode, ...StartedNode[]];
    await Promise.all(
      nodes.map(async ({ redis }, i) => {
        await redis.command('CLUSTER', 'SET-CONFIG-EPOCH', i + 1);
        if (i >= masters) return;
        const [from, to] = [i, i + 1].map((part) => Math.floor((part * SLOTS) / masters)) as [number, number];
        await redis.command('CLUSTER', 'ADDSLOTSRANGE', from, to - 1);
      }),
    );
    for (const { port, bus } of others) {
      await first.redis.command('CLUSTER', 'MEET', '127.0.0.1', port, bus);
    }
    await this.eventuallyAll('to know each other', nodes, 'INFO', (text) =>
      text.includes(`cluster_known_nodes:${nodes.length}`),
    );
    // Without full coverage, the state is also ok while the owners of some slots are unknown.
    const wanted = ['cluster_state:ok', `cluster_slots_assigned:${SLOTS}`];
    await this.eventuallyAll('to know the owner of each slot', nodes, 'INFO', (text) =>
      wanted.every((line) => text.includes(line)),
    );
    const replicas = nodes.slice(masters, nodes.length - spares);
    for (const [i, { redis }] of replicas.entries()) {
      await redis.command('CLUSTER', 'REPLICATE', (nodes[i % masters] as StartedNode).id);
    }
    await Promise.all(
      replicas.map(({ redis }) =>
        eventually(
          'a replica to be in sync',
          async () => /^master_link_status:up/m.test(String(await redis.command('INFO', 'replication'))),
          { timeoutMs: MEETING_TIMEOUT_MS },
        ),
      ),
    );
    if (replicas.length === 0) return;
    await this.eventuallyAll(
      'to know the replicas',
      nodes,
      'NODES',
      (text) => text.split(' slave ').length - 1 + text.split('myself,slave ').length - 1 === replicas.length,
    );
  }

  private async eventuallyAll(
    what: string,
    nodes: readonly ClusterNode[],
    command: 'INFO' | 'NODES',
    isRight: (text: string) => boolean,
  ): Promise<void> {
    await Promise.all(
      nodes.map(({ redis }) =>
        eventually(
          `the Cluster's nodes ${what}`,
          async () => isRight(String(await redis.command('CLUSTER', command))),
          {
            timeoutMs: MEETING_TIMEOUT_MS,
          },
        ),
      ),
    );
  }
}

async function keysInSlot({ redis }: ClusterNode, slot: number, most: number): Promise<string[]> {
  return (await redis.command('CLUSTER', 'GETKEYSINSLOT', slot, most)) as string[];
}

async function startNode(
  secure: boolean,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<StartedNode> {
  const [bus, tlsPort] = await Promise.all([freePort(), freePort()]);
  const redis = await RedisProcess.start({
    appendfsync: 'no',
    commandTimeoutMs: COMMAND_TIMEOUT_MS,
    args: [
      ...['--cluster-enabled', 'yes', '--cluster-port', String(bus)],
      ...['--cluster-node-timeout', String(NODE_TIMEOUT_MS), '--cluster-require-full-coverage', 'no'],
      ...['--repl-diskless-sync-delay', '0'],
      ...(secure ? [...tlsArguments(tlsPort), '--tls-cluster', 'yes'] : []),
      ...args,
    ],
    env,
  });
  const id = String(await redis.command('CLUSTER', 'MYID'));
  const address = `127.0.0.1:${secure ? tlsPort : redis.port}`;
  return { redis, id, address, bus, port: secure ? tlsPort : redis.port };
}
