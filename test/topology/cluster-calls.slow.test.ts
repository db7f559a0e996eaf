import { StoreState } from '../../generated/typescript/holdfast/v1/server_service';
import { bucketOf, slotOfBucket } from '../../src/redis/buckets';
import { closeAll, eventually } from '../support/eventually';
import { type Ending, refusal, serverInfo } from '../support/clients/calls';
import type { HoldStream } from '../support/clients/streams';
import { RedisClusterProcesses } from '../support/processes/redis-cluster';
import type { RedisProcess } from '../support/processes/redis-process';
import { Stopwatch } from '../support/stopwatch';
import { everythingWorks, locksWork, namesOf, onStage, Stage, untilAvailable } from './stage';

/** The number of scripts that a Redis has run, and the number of its reads from connections. */
async function traffic(redis: RedisProcess): Promise<{ scripts: number; reads: number }> {
  const info = String(await redis.command('INFO', 'everything'));
  const [, scripts] = /^cmdstat_evalsha:calls=(\d+)/m.exec(info) ?? [];
  const [, reads] = /^total_reads_processed:(\d+)/m.exec(info) ?? [];
  return { scripts: Number(scripts), reads: Number(reads) };
}

const slotOf = (name: string) => slotOfBucket(bucketOf(name));

/**
 * A call to a paused node, and a call for a moving slot, take the whole command timeout. The other calls of these tests
 * go to servers with the long command timeout of `InProcessServer`.
 */
const SHORT_TIMEOUT = { HOLDFAST_COMMAND_TIMEOUT: '2s' };
/** The bound of a call to a node that answers. It is below the short command timeout. */
const UNDISTURBED_MS = 1800;

/** Repeats a call that ends with OUTCOME_UNKNOWN, because the reply to its last command came after the command timeout. */
function knownRefusal(call: () => Promise<unknown>): Promise<Ending> {
  return eventually(
    'a call to end with a known outcome',
    async () => {
      const ending = await refusal(call());
      return ending.reason !== 'OUTCOME_UNKNOWN' && ending;
    },
    { timeoutMs: 60_000 },
  );
}

describe('a server over a Redis Cluster', () => {
  let cluster: RedisClusterProcesses;
  let stage: Stage;
  beforeAll(async () => {
    cluster = await RedisClusterProcesses.start();
    stage = await Stage.open(cluster);
  });
  afterAll(() =>
    closeAll(
      () => stage?.close(),
      () => cluster?.close(),
    ),
  );

  it('serves locks, semaphores, hand-overs and autocomplete on names of all nodes without a warning', async () => {
    await everythingWorks(stage);
    for (const { redis } of cluster.nodes) expect(Number(await redis.command('DBSIZE'))).toBeGreaterThan(0);
  });

  it('keeps leases, waiters and subscriptions of a slot that has moved', async () => {
    const name = 'moved';
    const client = stage.one.client();
    const lease = await client.acquire({ name, ttlMs: 20_000, waitMs: 0 });
    const source = await cluster.masterOf(slotOf(name));
    const target = cluster.nodes.find((node) => node !== source)!;
    await cluster.moveSlot(slotOf(name), target);
    expect((await refusal(stage.other.client().acquire({ name, waitMs: 0 }))).reason).toBe('CONTENDED');
    expect((await client.renew(lease.leaseId)).fencingToken).toBe(lease.fencingToken);
    // A moved slot has lost no data, so there is no quarantine.
    await client.release(lease.leaseId);
    const next = await stage.other.client().acquire({ name, waitMs: 0 });
    expect(next.fencingToken).toBeGreaterThan(lease.fencingToken);
    // Both servers subscribe to the channel at the new node.
    await client.release(next.leaseId);
    await eventually('subscriptions at the new node', async () => {
      const channels = (await target.redis.command('PUBSUB', 'SHARDCHANNELS')) as string[];
      return channels.filter((channel) => channel.startsWith(`holdfast:{${bucketOf(name)}}:`)).length === 2;
    });
    expect(stage.unexpectedWarnings()).toEqual([]);
  });

  it('answers STORE_UNAVAILABLE for names of a slot that is moving, and changes nothing', async () => {
    const client = stage.one.client();
    const [name, stranger] = sameSlot('moving', 2) as [string, string];
    const lease = await client.acquire({ name, ttlMs: 120_000, waitMs: 0, metadata: { a: 'b' } });
    const source = await cluster.masterOf(slotOf(name));
    const target = cluster.nodes.find((node) => node !== source)!;
    await onStage(cluster, 1, SHORT_TIMEOUT, async ({ one }) => {
      const caller = one.client();
      await cluster.moveSlot(slotOf(name), target, async () => {
        // One key of the name has moved, and the other keys have not.
        const calls = [
          ...[name, stranger].map((asked) => () => caller.acquire({ name: asked, waitMs: 0 })),
          () => caller.renew(lease.leaseId),
          () => caller.release(lease.leaseId),
        ];
        const endings = Promise.all(calls.map(knownRefusal));
        // Names of other slots work.
        await locksWork(stage, 'meanwhile');
        for (const ending of await endings) {
          expect(ending).toMatchObject({ code: 'UNAVAILABLE', reason: 'STORE_UNAVAILABLE' });
        }
      });
    });
    expect(await client.get(name)).toMatchObject({ holderCount: 1 });
    expect((await client.release(lease.leaseId)).released).toBe(true);
  });

  it('reads a list of recents while its slot is moving', async () => {
    const client = stage.one.autocomplete();
    const list = 'recents of a moving slot';
    await client.addRecent({ list, text: 'first' });
    const source = await cluster.masterOf(slotOf(list));
    const target = cluster.nodes.find((node) => node !== source)!;
    await cluster.moveSlot(slotOf(list), target, async () => {
      expect(await client.recents({ list, query: '' })).toEqual(['first']);
    });
    expect(await client.recents({ list, query: '' })).toEqual(['first']);
  });

  it('sends the renewals of many leases to each node in few writes', async () => {
    const client = stage.one.client();
    const streams: HoldStream[] = [];
    // 300 streams at once would be OVERLOADED on a busy machine.
    for (let group = 0; group < 30; group += 1) {
      const opened = namesOf(`together ${group}`, 10).map((name) => client.hold({ name, ttlMs: 9000 }));
      await Promise.all(opened.map((stream) => stream.until('granted')));
      streams.push(...opened);
    }
    await Promise.all(streams.map((stream) => stream.until('renewed')));
    const before = await Promise.all(cluster.nodes.map(({ redis }) => traffic(redis)));
    await Promise.all(streams.map((stream) => stream.until('renewed')));
    const after = await Promise.all(cluster.nodes.map(({ redis }) => traffic(redis)));
    const reads = after.map((node, index) => node.reads - before[index]!.reads);
    const scripts = after.map((node, index) => node.scripts - before[index]!.scripts);
    // A script may renew several leases of a bucket, and a write may have several scripts.
    for (const count of scripts) expect(count).toBeGreaterThan(20);
    // The groups are due at different times, so their renewals leave in different writes. Probes are reads too.
    expect(reads.reduce((all, count) => all + count)).toBeLessThan(0.8 * streams.length);
    for (const stream of streams) stream.cancel();
  });

  it('serves the names of the other nodes while a node is paused, and names the paused node', async () => {
    const names = namesOf('alone', 12);
    const masters = await Promise.all(names.map((name) => cluster.masterOf(slotOf(name))));
    const down = masters[0]!;
    const others = names.filter((_, i) => masters[i] !== down);
    await onStage(cluster, 1, SHORT_TIMEOUT, async ({ one }) => {
      const client = one.client();
      const warnings = async (): Promise<string[]> => {
        const { storeState, storeWarnings } = await serverInfo(one.address);
        expect(storeState).toBe(StoreState.STORE_STATE_READY);
        return storeWarnings;
      };
      await down.redis.stop();
      try {
        await eventually('a warning about the node', async () =>
          (await warnings()).some((text) => text.includes(`${down.address} of the store does not answer`)),
        );
        const stopwatch = new Stopwatch();
        await Promise.all(
          others.map(async (name) => client.release((await client.acquire({ name, waitMs: 0 })).leaseId)),
        );
        expect(stopwatch.chargedMs).toBeLessThan(UNDISTURBED_MS);
        const ending = await refusal(client.acquire({ name: names[0]!, waitMs: 0 }));
        expect(ending.code).toBe('UNAVAILABLE');
      } finally {
        await down.redis.cont();
      }
      await untilAvailable('the node to be back', () => client.get(names[0]!));
      await eventually(
        'the warning to end',
        async () => !(await warnings()).some((text) => text.includes('does not answer')),
      );
    });
  });

  /** Names of one bucket. */
  function sameSlot(stem: string, count: number): string[] {
    const all = namesOf(stem, 20_000);
    const bucket = bucketOf(all[0]!);
    return all.filter((name) => bucketOf(name) === bucket).slice(0, count);
  }
});
