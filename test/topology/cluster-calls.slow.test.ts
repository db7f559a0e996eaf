import { StoreState } from '../../generated/typescript/holdfast/v1/server_service';
import { entriesKey } from '../../src/autocomplete/redis/entry-keys';
import type { RedisEntryStore } from '../../src/autocomplete/redis/redis-entry-store';
import { systemClock } from '../../src/base/clock';
import { StoreFailure } from '../../src/base/errors';
import { bucketOf, slotOfBucket, slotOfKey } from '../../src/redis/buckets';
import { RedisCluster } from '../../src/redis/topology/cluster';
import { hostOf } from '../../src/redis/topology/cluster-watch';
import { EntriesChecker } from '../support/autocomplete/entries-checker';
import {
  loadedContent,
  PREFIX,
  PROFILE,
  stored,
  storedMany,
  storeOf,
} from '../support/autocomplete/entries-fixture';
import { type Ending, refusal, serverInfo } from '../support/clients/calls';
import type { HoldStream } from '../support/clients/streams';
import { closeAll, eventually } from '../support/eventually';
import { RedisClusterProcesses } from '../support/processes/redis-cluster';
import type { RedisProcess } from '../support/processes/redis-process';
import { scriptCalls } from '../support/redis-operations';
import { Stopwatch } from '../support/stopwatch';
import { everythingWorks, locksWork, namesOf, onStage, Stage, untilAvailable } from './stage';

/** The number of scripts that a Redis has run, and the number of its reads from connections. */
async function traffic(redis: RedisProcess): Promise<{ scripts: number; reads: number }> {
  const info = String(await redis.command('INFO', 'everything'));
  const [, reads] = /^total_reads_processed:(\d+)/m.exec(info) ?? [];
  return { scripts: scriptCalls(info), reads: Number(reads) };
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

/** A write during a move waits for this time. */
const SHORT_TIMEOUT_MS = 150;
const LONG_TIMEOUT_MS = 30_000;
/** The kinds of keys of a dictionary (autocomplete/scripts/shared/dictionary.lua). */
const KINDS = ['meta', 'state', 'e', 'feed', 'done', 'stage'] as const;
type Kind = (typeof KINDS)[number];

function open({ nodes }: RedisClusterProcesses, commandTimeoutMs: number): RedisCluster {
  return new RedisCluster({
    address: {
      kind: 'cluster',
      seeds: nodes.map(({ address }) => hostOf(address)),
      tls: false,
      username: undefined,
      password: undefined,
    },
    security: { tls: undefined, sentinelUser: undefined },
    prefix: PREFIX,
    quarantineMs: 5000,
    storeIsNew: true,
    hasLeases: false,
    commandTimeoutMs,
    clock: systemClock,
    onError: () => undefined,
  });
}

const kindOf = (key: string) => key.slice(key.indexOf(':d:') + 3).split(':')[0];

/** Chooses a key of this kind as early or as late as possible. */
const order = (kind: Kind, place: 'first' | 'last') => (keys: readonly string[]) => {
  const isWanted = (key: string) => (kindOf(key) === kind) === (place === 'first');
  return String(keys.find(isWanted) ?? keys[0]);
};

/** Writes with their outcomes. */
class Outcomes {
  private count = 0;
  private readonly outcomes = new Map<string, 'yes' | 'no' | 'unknown'>();

  /** A put of so many entries, whose ids begin with the same text. */
  async put(store: RedisEntryStore, name: string, entryCount: number): Promise<void> {
    const beginning = `put ${++this.count},`;
    const entries = Array.from({ length: entryCount }, (_, i) => stored(`${beginning} ${i}`));
    const outcome = await store.put(name, entries).then(
      () => 'yes' as const,
      (error: unknown) => {
        if (!(error instanceof StoreFailure)) throw error;
        return error.carriedOut;
      },
    );
    this.outcomes.set(beginning, outcome);
  }

  get isAnyUnfinished(): boolean {
    return [...this.outcomes.values()].some((outcome) => outcome === 'no');
  }

  /** The puts that are in the content although they failed, or are not in the content although they were answered. */
  wrong(ids: readonly string[]): string[] {
    return [...this.outcomes].flatMap(([beginning, outcome]) => {
      const isThere = ids.some((id) => id.startsWith(beginning));
      return outcome === 'unknown' || (outcome === 'yes') === isThere ? [] : [`${beginning} ${outcome}`];
    });
  }
}

describe('a dictionary whose slot moves key by key', () => {
  let cluster: RedisClusterProcesses;
  let hasty: RedisCluster;
  let patient: RedisCluster;
  beforeAll(async () => {
    cluster = await RedisClusterProcesses.start({ masters: 2 });
    [hasty, patient] = [open(cluster, SHORT_TIMEOUT_MS), open(cluster, LONG_TIMEOUT_MS)];
    await Promise.all([hasty.ready(LONG_TIMEOUT_MS), patient.ready(LONG_TIMEOUT_MS)]);
  });
  afterAll(async () => {
    for (const one of [hasty, patient]) one?.close();
    await cluster?.close();
  });

  it.each(KINDS.flatMap((kind) => [[kind, 'first'] as const, [kind, 'last'] as const]))(
    '(%s %s) keeps each answered write, and no write that was refused',
    async (kind, place) => {
      const name = `${kind} ${place}`;
      const [quick, slow] = [storeOf(hasty), storeOf(patient)];
      await slow.create(name, PROFILE);
      await slow.put(name, storedMany(150));
      await slow.select(name, 'id 7', 3);
      const head = await slow.head(name);
      const key = entriesKey(PREFIX, name);
      const source = await cluster.masterOf(slotOfKey(key));
      const target = cluster.nodes.find((node) => node !== source)!;
      const outcomes = new Outcomes();
      const waiting: Promise<void>[] = [];
      await cluster.moveKeyByKey(slotOfKey(key), target, order(kind, place), async () => {
        if (waiting.length === 0) waiting.push(outcomes.put(slow, name, 1), outcomes.put(slow, name, 150));
        await Promise.all([outcomes.put(quick, name, 1), outcomes.put(quick, name, 150)]);
        expect(await slow.head(name)).toEqual(head);
      });
      expect(outcomes.isAnyUnfinished).toBe(true);
      await Promise.all(waiting);
      await outcomes.put(slow, name, 1);
      const content = await loadedContent(slow, name);
      expect(outcomes.wrong(Object.keys(content))).toEqual([]);
      for (const { entryId, record } of storedMany(150)) {
        expect(content[entryId]).toEqual([String(record), entryId === 'id 7' ? 3 : 0]);
      }
      while ((await slow.sweep(name)) === 'more');
      const checker = new EntriesChecker(target.redis.adminUrl, PREFIX);
      expect(await checker.check(name).finally(() => checker.close())).toEqual([]);
      expect(await source.redis.command('CLUSTER', 'COUNTKEYSINSLOT', slotOfKey(key))).toBe('0');
    },
  );
});
