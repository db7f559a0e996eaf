import { setTimeout as sleep } from 'node:timers/promises';
import { bucketOf, slotOfBucket } from '../../src/redis/buckets';
import { eventually } from '../support/eventually';
import { refusal } from '../support/clients/calls';
import { RedisClusterProcesses, type ClusterNode } from '../support/processes/redis-cluster';
import { underLoad } from './load';
import {
  endQuarantine,
  functionsWork,
  handOversAreHinted,
  locksWork,
  namesOf,
  overStore,
  scriptCount,
  Stage,
  untilAvailable,
  untilReplicated,
} from './stage';

const LOAD_MS = 8000;
/** The bound of a call to a node that answers. A call to a lost node takes up to the command timeout. */
const UNDISTURBED_MS = 1800;
/** The time limit of a failover in a Cluster, including its detection. */
const FAILOVER_MS = 15_000;
const WAIT = { timeoutMs: 60_000 };

const slotOf = (name: string) => slotOfBucket(bucketOf(name));
const addressesOf = (stage: Stage) => stage.servers.map(({ address }) => address);

const overCluster = (
  options: Parameters<typeof RedisClusterProcesses.start>[0],
  run: (cluster: RedisClusterProcesses, stage: Stage) => Promise<void>,
) => overStore(RedisClusterProcesses.start(options), {}, run);

/** Returns three masters, and for each master one name with its keys on this master. */
async function oneOfEach(cluster: RedisClusterProcesses, stem: string): Promise<Map<ClusterNode, string>> {
  const found = new Map<ClusterNode, string>();
  for (const name of namesOf(stem, 60)) {
    const master = await cluster.masterOf(slotOf(name));
    if (!found.has(master)) found.set(master, name);
    if (found.size === 3) break;
  }
  return found;
}

const isReplica = async ({ redis }: ClusterNode) => String(await redis.command('ROLE')).startsWith('slave');

/** Gives the last node its first slot. Waits for two probes by each server, after which its epochs count as known. */
async function knowsEachMaster(cluster: RedisClusterProcesses, stage: Stage): Promise<void> {
  const spare = cluster.nodes.at(-1) as ClusterNode;
  const [name = ''] = namesOf('first of the last node', 1);
  await cluster.moveSlot(slotOf(name), spare);
  expect((await refusal(stage.one.client().acquire({ name, waitMs: 0 }))).reason).toBe('QUARANTINED');
  await endQuarantine(stage);
  const probeCount = async () =>
    Number(
      /^cmdstat_cluster\|slots:calls=(\d+)/m.exec(
        String(await spare.redis.command('INFO', 'commandstats')),
      )?.[1] ?? 0,
    );
  const enough = (await probeCount()) + 2 * stage.servers.length + 2;
  await eventually('the servers to have probed the node', async () => (await probeCount()) >= enough, WAIT);
  expect((await stage.one.client().acquire({ name, waitMs: 0 })).leaseId).not.toBe('');
}

test('the invariants hold while slots move to and fro under load', () =>
  overCluster({ spares: 1 }, async (cluster, stage) => {
    const names = namesOf('moved', 8);
    // No client uses these names. The servers must adopt the slots of these names without a call.
    const idle = namesOf('idle', 4);
    await knowsEachMaster(cluster, stage);
    for (const { warnings } of stage.servers) warnings.splice(0); // The first slot of the last node causes warnings.
    let moves = 0;
    await underLoad(names, addressesOf(stage), LOAD_MS, async () => {
      const until = performance.now() + LOAD_MS;
      for (let round = 0; round < 2 || performance.now() < until; round += 1) {
        for (const [i, name] of [...names, ...(round % 2 === 0 ? idle : [])].entries()) {
          const target = cluster.nodes[(i + round) % cluster.nodes.length] as ClusterNode;
          await cluster.moveSlot(slotOf(name), target);
          moves += 1;
        }
        await sleep(50);
      }
    });
    expect(moves).toBeGreaterThan(names.length + idle.length);
    await locksWork(stage, 'idle');
    await Promise.all([locksWork(stage, 'lock'), handOversAreHinted(stage, 'moved')]);
    await functionsWork(stage, 'by functions');
    expect(stage.unexpectedWarnings()).toEqual([]);
  }));

test('the invariants hold while replicas take over in order under load', () =>
  overCluster({ replicas: 1 }, async (cluster, stage) => {
    const names = namesOf('handed', 6);
    await underLoad(names, addressesOf(stage), LOAD_MS, async () => {
      const masters = await oneOfEach(cluster, 'handed');
      for (const master of masters.keys()) {
        const replica = await cluster.replicaOf(master);
        await replica.redis.command('CLUSTER', 'FAILOVER');
        await eventually('the replica to be master', async () => !(await isReplica(replica)), WAIT);
        await endQuarantine(stage);
        await sleep(500);
      }
    });
    await Promise.all([locksWork(stage, 'lock'), handOversAreHinted(stage, 'handed')]);
    await functionsWork(stage, 'by functions');
  }));

test('leases of a killed master continue at its replica, and calls on other masters are not delayed', () =>
  overCluster({ replicas: 1 }, async (cluster, stage) => {
    const names = await oneOfEach(cluster, 'killed');
    const [[victim, lost], ...others] = [...names] as [[ClusterNode, string], ...[ClusterNode, string][]];
    const client = stage.one.client();
    const lease = await client.acquire({ name: lost, ttlMs: 60_000, waitMs: 0 });
    await untilReplicated(victim.redis, 1);
    const stream = stage.other.client().hold({ name: others[0]![1], ttlMs: 2000 });
    await stream.until('granted');

    const killedAt = performance.now();
    await victim.redis.kill();
    let slowest = 0;
    let isBack = false;
    const undisturbed = (async () => {
      while (!isBack) {
        for (const [, name] of others.slice(1)) {
          const started = performance.now();
          await client.release((await client.acquire({ name, waitMs: 0 })).leaseId);
          slowest = Math.max(slowest, performance.now() - started);
        }
        await sleep(20);
      }
    })();
    const renewed = await untilAvailable('the replica to take over', () => client.renew(lease.leaseId));
    isBack = true;
    await undisturbed;
    expect(renewed.fencingToken).toBe(lease.fencingToken);
    expect(performance.now() - killedAt).toBeLessThan(FAILOVER_MS);
    expect(slowest).toBeLessThan(UNDISTURBED_MS);
    expect((await refusal(client.acquire({ name: lost, waitMs: 0 }))).reason).toBe('QUARANTINED');
    await endQuarantine(stage);
    expect((await refusal(client.acquire({ name: lost, waitMs: 0 }))).reason).toBe('CONTENDED');
    expect(stream.kinds).not.toContain('lost');
    expect(stream.kinds).not.toContain('renewalFailed');
    stream.cancel();

    // The old master restarts as a replica and gets no scripts.
    await victim.redis.restart();
    await eventually('the old master to be a replica', () => isReplica(victim), WAIT);
    await locksWork(stage, 'after');
    await functionsWork(stage, 'by functions');
    expect(await scriptCount(victim.redis)).toBe(0);
  }));

test('a master that was paused and continues after a take-over by its replica gets no scripts', () =>
  overCluster({ replicas: 1 }, async (cluster, stage) => {
    const names = await oneOfEach(cluster, 'paused');
    const [victim, name] = [...names][0]!;
    const replica = await cluster.replicaOf(victim);
    const client = stage.one.client();
    const lease = await client.acquire({ name, ttlMs: 60_000, waitMs: 0 });
    await untilReplicated(victim.redis, 1);
    await victim.redis.stop();
    await replica.redis.command('CLUSTER', 'FAILOVER', 'TAKEOVER');
    const renewed = await untilAvailable('the new master', () => client.renew(lease.leaseId));
    expect(renewed.fencingToken).toBe(lease.fencingToken);
    await client.release(lease.leaseId);
    await endQuarantine(stage);
    const next = await client.acquire({ name, ttlMs: 60_000, waitMs: 0 });
    await victim.redis.cont();
    await eventually('the old master to be a replica', () => isReplica(victim), WAIT);
    const before = await scriptCount(victim.redis);
    expect((await client.renew(next.leaseId)).fencingToken).toBe(next.fencingToken);
    await Promise.all([locksWork(stage, 'after'), handOversAreHinted(stage, 'told')]);
    expect(await scriptCount(victim.redis)).toBe(before);
  }));

test('a server starts while a node is down, and uses the node when the node is up', () =>
  overCluster({}, async (cluster, stage) => {
    const names = await oneOfEach(cluster, 'late');
    const [[down, missing], ...others] = [...names] as [[ClusterNode, string], ...[ClusterNode, string][]];
    await down.redis.kill();
    const late = await Stage.open(cluster, 1);
    const client = late.one.client();
    for (const [, name] of others) await client.acquire({ name, waitMs: 0 });
    expect((await refusal(client.acquire({ name: missing, waitMs: 0 }))).reason).toBe('STORE_UNAVAILABLE');
    await down.redis.restart();
    await eventually(
      'the server to reach the node',
      async () => {
        const { reason } = await refusal(client.acquire({ name: missing, waitMs: 0 }));
        return reason === 'QUARANTINED'; // The node may have lost its last writes.
      },
      WAIT,
    );
    await endQuarantine(late);
    await untilAvailable('the node', () => client.acquire({ name: missing, waitMs: 0 }));
    await untilAvailable('hints', () => handOversAreHinted(stage, `late ${performance.now()}`));
    await late.close();
  }));
