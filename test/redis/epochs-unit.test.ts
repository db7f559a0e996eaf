import { StoreFailure } from '../../src/base/errors';
import type { Quarantine } from '../../src/base/store-state';
import { epochKey } from '../../src/redis/buckets';
import type { EpochGuard, GuardedReply } from '../../src/redis/commands';
import type { RedisConnection } from '../../src/redis/connection';
import { Epochs } from '../../src/redis/epochs/epochs';
import { endQuarantines } from '../../src/redis/topology/cluster-health';
import type { Reply } from '../../src/redis/script';
import { ManualClock } from '../support/manual-clock';
import { failureOf } from '../support/reply-kinds';

const QUARANTINE_MS = 135_000;
const REDIS_AHEAD_MS = 5_000_000;
const RUN = 'R';
/** The answer of epoch-adopt if grants are not paused. */
const NO_PAUSE = ['0', '0', '', String(QUARANTINE_MS), 'w', '12000'];
/** Positions in the arguments of epoch-adopt. */
const SET_FORWARD_AT = 5;
const NOT_AFTER_AT = 6;

interface SentAdoption {
  readonly key: string;
  readonly args: readonly (string | number)[];
}

/** The epochs of one node over a fake connection, with a manual clock. */
class Scene {
  readonly clock = new ManualClock(1000);
  buckets: readonly (readonly number[])[] = [[1]];
  sourceRuns: () => Promise<readonly string[]> = () => Promise.resolve([]);
  /** The milliseconds by which Redis's clock was set forward. */
  stepMs = 0;
  /** The adoptions, in the order in which they were sent. */
  readonly sent: SentAdoption[] = [];
  /** Throws if the node does not have the epoch key. */
  beforeAdoption: (key: string) => void = () => undefined;
  settledCount = 0;
  /** Answers a read of an epoch. */
  readEpoch: (key: string) => string | null = () => `L2:${RUN} w ${QUARANTINE_MS} 12000`;
  /** The keys of the epochs that were read. */
  readonly read: string[] = [];
  readonly epochs: Epochs;

  constructor() {
    const connection = {
      commands: {
        send: async ({
          keys,
          read,
          guard,
        }: {
          keys: readonly string[];
          read: (reply: GuardedReply) => unknown;
          guard: EpochGuard;
        }) => {
          const [key = ''] = keys;
          const args = guard.epochArguments(this.clock.now() + 2000, [key]) ?? [];
          this.sent.push({ key, args });
          const isLate = Number(args[NOT_AFTER_AT]) < this.redisTimeMs * 1000;
          if (!isLate) this.beforeAdoption(key);
          return Promise.resolve(read(this.reply(isLate ? 'STALE' : 'OK', isLate ? [] : NO_PAUSE)));
        },
      },
      probeNode: () => Promise.resolve(this.report()),
      ask: async (_get: string, key: string) => {
        this.read.push(key);
        return Promise.resolve(this.readEpoch(key));
      },
      changed: () => undefined,
    } as unknown as RedisConnection;
    const nodeBuckets = {
      buckets: () => this.buckets,
      sourceRuns: () => this.sourceRuns(),
      onSettled: () => (this.settledCount += 1),
    };
    const options = { prefix: 'test', quarantineMs: QUARANTINE_MS, storeIsNew: false, nodeBuckets };
    const onError = () => undefined;
    this.epochs = new Epochs({ ...options, clock: this.clock, onError }, () => connection);
  }

  /** Delivers a report of the node now. The server asked for the report at `sentAt`. */
  report(sentAt = this.clock.now(), runId = RUN): void {
    const known = { runId, durable: false, overlapMs: 12_000, uptimeSeconds: 1, confirmingReplicas: 0 };
    const report = { ...known, memoryShare: 0, replicaLagBytes: 0 };
    const sample = { time: this.redisTimeMs, sentAt, receivedAt: this.clock.now() };
    this.epochs.onReport(
      { ...report, warnings: [], missingRights: undefined, mayUseLibrary: true, unsuitable: false },
      sample,
    );
  }

  /** Advances the clock, and delivers a report each second. */
  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 1000) {
      await this.clock.advance(1000);
      this.report();
      await this.epochs.adopt().catch(() => undefined);
    }
  }

  commandArguments(bucket: number) {
    const keys = Array.from({ length: 8 }, () => epochKey('test', bucket));
    return this.epochs.epochArguments(this.clock.now() + 2000, keys);
  }

  /** The verdict of the epoch check on a reply of now: on a grant, or on a release that grants to a waiter. */
  async verdict(word = 'GRANTED', news: readonly Reply[] = []): Promise<string | undefined> {
    return (await this.epochs.epochCheck({ ...this.reply(word, []), news }, []))?.kind;
  }

  private get redisTimeMs(): number {
    return REDIS_AHEAD_MS + this.stepMs + this.clock.now();
  }

  private reply(word: string, values: readonly string[]): GuardedReply {
    const { redisTimeMs } = this;
    const sentAt = this.clock.now();
    return { word, followUp: 'none', news: [], redisTimeMs, pauseMs: 0, values, sentAt, isRepeated: false };
  }
}

const DIRECT_GRANT: Reply[] = [['id', 's1.1', '1', '1', 'secret', '1']];

const elsewhere = (text: string) => new StoreFailure('no', 'unavailable', { cause: new Error(text) });

describe('the epochs of a node', () => {
  it.each([
    ['some buckets', [[1]], 'a grant', 'GRANTED', [], 'in doubt'],
    ['no buckets', [], 'a grant', 'GRANTED', [], 'in doubt'],
    ['some buckets', [[1]], 'a release with a grant to a waiter', 'RELEASED', DIRECT_GRANT, 'without grants'],
    ['some buckets', [[1]], 'a release', 'RELEASED', [], undefined],
  ] as const)(
    'contain the run and the bounds of a node that began with %s, and detect a step of its clock by the reply to %s',
    async (_, buckets, _reply, word, news, verdict) => {
      const scene = new Scene();
      scene.buckets = buckets;
      scene.report();
      await scene.epochs.adopt();
      await scene.epochs.adoptArrived([1]);
      expect(scene.commandArguments(1)?.[0]).toBe(`L2:${RUN} w ${QUARANTINE_MS} 12000`);
      await scene.pass(3000);
      expect(await scene.verdict()).toBeUndefined();
      scene.stepMs = 900;
      expect(await scene.verdict(word, news)).toBe(verdict);
    },
  );

  it('allow no grant if the latest report was read a minute after it was asked for', async () => {
    const scene = new Scene();
    await scene.pass(1000);
    const sentAt = scene.clock.now();
    expect(scene.commandArguments(1)?.[1]).toBeGreaterThan(0);
    await scene.clock.advance(60_000);
    scene.report(sentAt);
    expect(scene.commandArguments(1)?.[1]).toBe(0);
    scene.report();
    expect(scene.commandArguments(1)?.[1]).toBeGreaterThan(0);
  });

  it('are adopted again for a bucket that was on the move when the clock was set forward', async () => {
    const scene = new Scene();
    scene.buckets = [[1], [2]];
    await scene.pass(1000);
    let isMoving = true;
    scene.beforeAdoption = (key) => {
      if (isMoving && key === epochKey('test', 2)) throw elsewhere('TRYAGAIN');
    };
    scene.stepMs = 60_000;
    await scene.pass(2000);
    expect(scene.commandArguments(1)?.[1]).toBeGreaterThan(0);
    // The node grants nothing of a moving bucket until the owner of the bucket is known.
    expect(scene.commandArguments(2)?.[1]).toBe(0);
    isMoving = false;
    scene.sent.splice(0);
    await scene.pass(2000);
    const stepped = scene.sent.filter(({ args }) => Number(args[SET_FORWARD_AT]) > 0);
    expect(stepped.map(({ key }) => key)).toEqual([epochKey('test', 2)]);
    expect(Number(stepped[0]?.args[SET_FORWARD_AT])).toBeGreaterThan(59_000_000);
    expect(scene.commandArguments(2)?.[1]).toBeGreaterThan(0);
  });

  it.each([
    ['without an epoch', null],
    ['of another layout', `L3:${RUN} w ${QUARANTINE_MS} 12000`],
    ['of a layout without a number', `${RUN} w ${QUARANTINE_MS} 12000`],
    ['with a pause that another server has begun', `L2:${RUN} w ${QUARANTINE_MS} 12000 5 9 0 forgotten`],
  ])('are adopted again if a report finds a bucket %s, although no command comes', async (_, epoch) => {
    const scene = new Scene();
    scene.buckets = [[1, 2], [3]];
    await scene.pass(1000);
    const adopt = jest.spyOn(scene.epochs, 'adopt');
    for (let second = 0; second < 4; second += 1) {
      await scene.clock.advance(1000);
      scene.report();
    }
    expect(scene.read).toEqual([1, 3, 1, 3].map((bucket) => epochKey('test', bucket)));
    expect(adopt).not.toHaveBeenCalled();
    scene.readEpoch = () => epoch;
    await scene.clock.advance(1000);
    scene.report();
    await scene.clock.advance(1);
    expect(adopt).toHaveBeenCalledTimes(1);
  });

  it('are not adopted again if an epoch cannot be read', async () => {
    const scene = new Scene();
    await scene.pass(1000);
    const adopt = jest.spyOn(scene.epochs, 'adopt');
    scene.readEpoch = () => {
      throw new Error('MOVED 9842 10.0.0.2:6379');
    };
    await scene.clock.advance(1000);
    scene.report();
    await scene.clock.advance(1);
    expect([scene.read.length, adopt.mock.calls.length]).toEqual([1, 0]);
  });

  it('ask for the source runs again if the answer is too old for the adoption', async () => {
    const scene = new Scene();
    await scene.pass(1000);
    let answer: (sourceRuns: readonly string[]) => void = () => undefined;
    scene.sourceRuns = () => new Promise((resolve) => (answer = resolve));
    scene.sent.splice(0);
    const adopted = scene.epochs.adoptArrived([1]);
    await scene.clock.advance(60_000);
    scene.sourceRuns = () => Promise.resolve(['B']);
    answer(['A']);
    await adopted;
    expect(scene.sent.map(({ args }) => args.at(-1))).toEqual(['A', 'B']);
    expect(Number(scene.sent[0]?.args[NOT_AFTER_AT])).toBeLessThan(
      Number(scene.sent[1]?.args[NOT_AFTER_AT]) - 50_000_000,
    );
  });
});

describe('the epochs of a node of a Cluster', () => {
  const GROUPS = Array.from({ length: 20 }, (_, bucket) => [bucket]);
  const bucketOfKey = (key: string) => Number(/\d+/.exec(key));

  it('are adopted for the remaining buckets if the first groups of buckets have moved to other nodes', async () => {
    const scene = new Scene();
    scene.buckets = GROUPS;
    scene.beforeAdoption = (key) => {
      if (bucketOfKey(key) < 16) throw elsewhere('MOVED 1 there:1');
    };
    scene.report();
    await scene.epochs.adopt();
    expect(scene.sent).toHaveLength(GROUPS.length);
    expect(scene.settledCount).toBe(1);
  });

  it('are not settled if all buckets have moved to other nodes', async () => {
    const scene = new Scene();
    scene.buckets = GROUPS;
    scene.beforeAdoption = () => {
      throw elsewhere('MOVED 1 there:1');
    };
    scene.report();
    await expect(scene.epochs.adopt()).rejects.toMatchObject({ kind: 'unavailable', carriedOut: 'no' });
    expect(scene.settledCount).toBe(0);
    expect(scene.epochs.settledSince).toBe(Infinity);
  });

  it('are settled since the first adoption of all buckets, and settle again after a new run', async () => {
    const scene = new Scene();
    scene.buckets = GROUPS;
    scene.report();
    expect(scene.epochs.settledSince).toBe(Infinity);
    await scene.epochs.adopt();
    expect(scene.epochs.settledSince).toBe(1000);
    await scene.clock.advance(5000);
    scene.report();
    await scene.epochs.adopt();
    expect(scene.epochs.settledSince).toBe(1000);
    const nextTerm = `${RUN}/0123456789abcdef`;
    scene.report(scene.clock.now(), nextTerm);
    expect(scene.epochs.settledSince).toBe(Infinity);
    await scene.epochs.adopt();
    expect(scene.epochs.settledSince).toBe(6000);
  });
});

const node = (end: () => Promise<Quarantine | undefined>) => ({ reachable: true, endQuarantine: end });
const ended = (remainingMs: number) =>
  node(() => Promise.resolve({ remainingMs, cause: 'restarted' as const }));
const failing = (carriedOut: 'no' | 'unknown', kind: StoreFailure['kind']) =>
  node(() => Promise.reject(new StoreFailure(carriedOut, kind)));

describe('the end of the quarantines of all nodes', () => {
  it('returns the longest quarantine', async () => {
    expect(await endQuarantines([ended(5), ended(9), node(() => Promise.resolve(undefined))])).toEqual({
      remainingMs: 9,
      cause: 'restarted',
    });
  });

  it('is unconfirmed if all nodes have made the change, and replicas have not confirmed it', async () => {
    const ending = endQuarantines([ended(5), failing('unknown', 'unconfirmed')]);
    expect(await failureOf(ending)).toMatchObject({ carriedOut: 'unknown', kind: 'unconfirmed' });
  });

  it('is unknown if a node has not answered, even if another node has done nothing', async () => {
    const nodes = [failing('unknown', 'unconfirmed'), failing('no', 'unavailable')];
    expect(await failureOf(endQuarantines(nodes))).toMatchObject({
      carriedOut: 'unknown',
      kind: 'unavailable',
    });
  });
});
