import { epochAdopt, epochEnd, replicationMark } from '../../../generated/redis/scripts';
import { type GuardedReply, readGuardedReply } from '../../../src/redis/commands';
import type { Reply } from '../../../src/redis/script';
import { eventually } from '../../support/eventually';
import { RedisProcess } from '../../support/processes/redis-process';

const [X, Y, Z] = ['a', 'b', 'c'].map((letter) => letter.repeat(40)) as [string, string, string];
const Q_MS = 20_000;
const Q_US = Q_MS * 1000;
const NEVER = Number.MAX_SAFE_INTEGER;
/** The assumed bound of the time between two commands of a test, on a busy machine. */
const SLACK_US = 5_000_000;

interface Adoption {
  readonly runId: string;
  readonly durability?: 'a' | 'w';
  readonly quarantineMs?: number;
  readonly known?: string;
  readonly isNew?: boolean;
  readonly setForwardUs?: number;
  readonly notAfter?: number;
  readonly overlapMs?: number;
  readonly sourceRuns?: string;
}

let redis: RedisProcess;
let keys = 0;
beforeAll(async () => {
  redis = await RedisProcess.start({ appendfsync: 'no' });
});
afterAll(() => redis.close());

async function adoptAll(buckets: readonly Bucket[], adoption: Adoption) {
  const { runId, durability = 'a', quarantineMs = Q_MS, known = '' } = adoption;
  const { isNew = false, setForwardUs = 0, notAfter = NEVER, overlapMs = 0, sourceRuns = '' } = adoption;
  const keys = buckets.map(({ key }) => key);
  const facts = [runId, durability, quarantineMs, known, isNew ? 1 : 0, setForwardUs];
  const args = [...facts, notAfter, overlapMs, sourceRuns];
  const raw = (await redis.command('EVAL', epochAdopt, keys.length, ...keys, ...args)) as Reply[];
  const { word, pauseMs, values } = readGuardedReply(raw, 0) as GuardedReply;
  const [paused, still, cause, longestMs, weakest, overlap] = values;
  const leftUs = pauseMs * 1000;
  return { word, paused: Number(paused), still: Number(still), leftUs, cause, longestMs, weakest, overlap };
}

async function endAll(buckets: readonly Bucket[], runId: string, notAfter = NEVER) {
  const keys = buckets.map(({ key }) => key);
  const raw = (await redis.command('EVAL', epochEnd, keys.length, ...keys, runId, notAfter)) as Reply[];
  const { word, pauseMs, values } = readGuardedReply(raw, 0) as GuardedReply;
  return { word, leftUs: pauseMs * 1000, values };
}

class Bucket {
  readonly key = `test:{${(keys += 1)}}:epoch`;

  adopt(adoption: Adoption) {
    return adoptAll([this], adoption);
  }

  end(runId: string, notAfter?: number) {
    return endAll([this], runId, notAfter);
  }

  async text(): Promise<string> {
    return (await redis.command('GET', this.key)) as string;
  }

  /** Moves the times of the pause into the past by `ms`. */
  async pass(ms: number): Promise<void> {
    const [run, durability, longest, overlap, since, til, ...rest] = (await this.text()).split(' ');
    const moved = [since, til].map((time) => BigInt(time as string) - BigInt(ms * 1000));
    await redis.command('SET', this.key, [run, durability, longest, overlap, ...moved, ...rest].join(' '));
  }
}

/** Checks that grants pause for a whole quarantine from now. */
const isWhole = (leftUs: number, whole = Q_US) => leftUs > whole - SLACK_US && leftUs <= whole;

describe('epoch-adopt', () => {
  it('pauses a bucket without an epoch as `forgotten`, unless the store is new', async () => {
    const forgotten = new Bucket();
    const answer = await forgotten.adopt({ runId: X });
    expect(answer).toMatchObject({ paused: 1, still: 1, cause: 'forgotten' });
    expect(isWhole(answer.leftUs)).toBe(true);
    const fresh = new Bucket();
    expect(await fresh.adopt({ runId: X, isNew: true })).toMatchObject({ paused: 0, still: 0, leftUs: 0 });
    expect(await fresh.text()).toBe(`${X} a ${Q_MS} 0`);
  });

  it('pauses a bucket with an unreadable epoch as `forgotten`', async () => {
    const bucket = new Bucket();
    await redis.command('SET', bucket.key, 'edited manually');
    expect(await bucket.adopt({ runId: X })).toMatchObject({ paused: 1, cause: 'forgotten' });
  });

  it('answers LAYOUT and changes no bucket if one of the buckets has leases of another layout', async () => {
    const [own, other] = [new Bucket(), new Bucket()];
    await own.adopt({ runId: `L1:${X}`, isNew: true });
    await other.adopt({ runId: `L2:${X}`, isNew: true });
    const before = await Promise.all([own.text(), other.text()]);
    for (const runId of [`L1:${Y}`, `L2:${Y}`, Y]) {
      expect(await adoptAll([own, other], { runId })).toMatchObject({ word: 'LAYOUT', leftUs: 0 });
    }
    expect(await Promise.all([own.text(), other.text()])).toEqual(before);
    expect(await other.adopt({ runId: `L2:${Y}` })).toMatchObject({ word: 'OK' });
  });

  it.each([
    ['of a new store', {}, { isNew: true }],
    ['of a restart', { runId: X, isNew: true }, { known: X }],
    ['of a clock set forward', { runId: Y, isNew: true }, { setForwardUs: 1000 }],
  ])(
    'answers STALE and changes nothing if the report %s arrives after its deadline',
    async (_, before, late) => {
      const bucket = new Bucket();
      if ('runId' in before) await bucket.adopt(before);
      const text = await bucket.text();
      expect(await bucket.adopt({ runId: Y, ...late, notAfter: 1 })).toMatchObject({
        word: 'STALE',
        leftUs: 0,
      });
      expect(await bucket.text()).toBe(text);
    },
  );

  it.each([
    ['grants without a pause if both runs sync every write', { before: 'a', after: 'a', known: '' }, false],
    [
      'grants without a pause if both runs sync every write and the server knew the old run',
      { before: 'a', after: 'a', known: X },
      false,
    ],
    [
      'pauses grants if both runs sync every write, but the server knew a third run in between',
      { before: 'a', after: 'a', known: Z },
      true,
    ],
    ['pauses grants if only the old run synced every write', { before: 'a', after: 'w', known: X }, true],
    ['pauses grants if only the new run syncs every write', { before: 'w', after: 'a', known: X }, true],
    ['pauses grants if neither run syncs every write', { before: 'w', after: 'w', known: X }, true],
  ] as const)('adopts a new run, and %s', async (_, { before, after, known }, pauses) => {
    const bucket = new Bucket();
    await bucket.adopt({ runId: X, durability: before, isNew: true });
    const answer = await bucket.adopt({ runId: Y, durability: after, known });
    expect(answer.still).toBe(pauses ? 1 : 0);
    if (pauses) expect(answer.cause).toBe('restarted');
    if (pauses) expect(isWhole(answer.leftUs)).toBe(true);
    expect(await bucket.text()).toMatch(new RegExp(`^${Y} ${after} ${Q_MS}`));
  });

  it('keeps the cause `restarted` if the clock of the new run was also set forward', async () => {
    const bucket = new Bucket();
    await bucket.adopt({ runId: X, isNew: true, durability: 'w' });
    expect(await bucket.adopt({ runId: Y, setForwardUs: 1000 })).toMatchObject({ cause: 'restarted' });
    expect(await bucket.adopt({ runId: Y, setForwardUs: 1000 })).toMatchObject({ cause: 'restarted' });
    expect(await bucket.text()).toMatch(/ 1000 restarted$/);
  });

  it('replaces the cause `clock` by `restarted`, because fewer leases may be renewed after a loss', async () => {
    const bucket = new Bucket();
    await bucket.adopt({ runId: X, isNew: true });
    expect(await bucket.adopt({ runId: X, setForwardUs: 1000 })).toMatchObject({ cause: 'clock' });
    expect(await bucket.adopt({ runId: Y, known: Z })).toMatchObject({ cause: 'restarted' });
  });

  it('grants without a pause if a source run moved the bucket here', async () => {
    const bucket = new Bucket();
    await bucket.adopt({ runId: X, durability: 'w', isNew: true });
    const moved = { runId: Y, durability: 'w', known: Z, sourceRuns: `${Z} ${X}` } as const;
    expect(await bucket.adopt(moved)).toMatchObject({ paused: 0, still: 0 });
    expect(await bucket.adopt({ ...moved, runId: Z, sourceRuns: X })).toMatchObject({ cause: 'restarted' });
  });

  it('keeps the longest overlap of a run, and drops the overlap of the previous run', async () => {
    const bucket = new Bucket();
    await bucket.adopt({ runId: X, isNew: true, overlapMs: 12_000 });
    expect(await bucket.adopt({ runId: X, overlapMs: 4000 })).toMatchObject({ overlap: '12000' });
    expect(await bucket.adopt({ runId: X, overlapMs: 13_000 })).toMatchObject({ overlap: '13000' });
    expect(await bucket.text()).toBe(`${X} a ${Q_MS} 13000`);
    expect(await bucket.adopt({ runId: Y })).toMatchObject({ overlap: '0' });
  });

  it('keeps the weakest durability of a run, because leases granted in that time may be lost', async () => {
    const bucket = new Bucket();
    await bucket.adopt({ runId: X, isNew: true });
    expect(await bucket.adopt({ runId: X, durability: 'w' })).toMatchObject({ still: 0, weakest: 'w' });
    expect(await bucket.adopt({ runId: X, durability: 'a' })).toMatchObject({ still: 0, weakest: 'w' });
    expect(await bucket.adopt({ runId: Y, durability: 'a' })).toMatchObject({ still: 1, weakest: 'a' });
  });

  it('neither restarts nor shortens the pause if the same or another server adopts again', async () => {
    const bucket = new Bucket();
    await bucket.adopt({ runId: X });
    const first = await bucket.text();
    for (const again of [{}, { isNew: true }, { known: X }, { quarantineMs: 1 }]) {
      expect(await bucket.adopt({ runId: X, ...again })).toMatchObject({ paused: 0, still: 1 });
      expect(await bucket.text()).toBe(first);
    }
  });

  it('extends the pause to the longest quarantine of any server, counted from its start', async () => {
    const bucket = new Bucket();
    await bucket.adopt({ runId: X });
    await bucket.pass(5000);
    const { leftUs, longestMs } = await bucket.adopt({ runId: X, quarantineMs: 3 * Q_MS });
    expect(longestMs).toBe(String(3 * Q_MS));
    expect(isWhole(leftUs, 3 * Q_US - 5_000_000)).toBe(true);
    // The next pause has the same length, even if another server adopts with a shorter quarantine.
    const next = await bucket.adopt({ runId: Y, durability: 'w', quarantineMs: 1 });
    expect(isWhole(next.leftUs, 3 * Q_US)).toBe(true);
  });

  it('continues the pause after a restart that loses no data', async () => {
    const bucket = new Bucket();
    await bucket.adopt({ runId: X });
    await bucket.pass(5000);
    const { paused, still, leftUs, cause } = await bucket.adopt({ runId: Y, known: X });
    expect({ paused, still, cause }).toEqual({ paused: 0, still: 1, cause: 'forgotten' });
    expect(isWhole(leftUs, Q_US - 5_000_000)).toBe(true);
  });

  it('ends the pause after the quarantine', async () => {
    const bucket = new Bucket();
    await bucket.adopt({ runId: X });
    await bucket.pass(Q_MS);
    expect(await bucket.adopt({ runId: X })).toMatchObject({ still: 0, leftUs: 0 });
    expect(await bucket.text()).toBe(`${X} a ${Q_MS} 0`);
  });

  it('restarts the pause when the clock was set forward, and stores the step', async () => {
    const bucket = new Bucket();
    await bucket.adopt({ runId: X, isNew: true });
    const { paused, leftUs, cause } = await bucket.adopt({ runId: X, setForwardUs: 7_000_000 });
    expect({ paused, cause }).toEqual({ paused: 1, cause: 'clock' });
    expect(isWhole(leftUs)).toBe(true);
    expect(await bucket.text()).toMatch(/ 7000000 clock$/);
    await bucket.pass(Q_MS);
    await bucket.adopt({ runId: X });
    expect(await bucket.text()).toBe(`${X} a ${Q_MS} 0`);
  });

  it('keeps the longest step of the clock while grants pause', async () => {
    const bucket = new Bucket();
    await bucket.adopt({ runId: X, isNew: true });
    for (const setForwardUs of [7_000_000, 1000]) await bucket.adopt({ runId: X, setForwardUs });
    expect(await bucket.text()).toMatch(/ 7000000 clock$/);
  });

  it('keeps neither the cause nor the step of a pause that has ended', async () => {
    const bucket = new Bucket();
    await bucket.adopt({ runId: X, setForwardUs: 7_000_000 });
    expect(await bucket.text()).toMatch(/ 7000000 forgotten$/);
    await bucket.pass(Q_MS);
    expect(await bucket.adopt({ runId: X, setForwardUs: 1000 })).toMatchObject({ paused: 1, cause: 'clock' });
    expect(await bucket.text()).toMatch(/ 1000 clock$/);
  });

  it('shortens the pause to one quarantine from now if the clock was set back', async () => {
    const bucket = new Bucket();
    await bucket.adopt({ runId: X });
    await bucket.pass(-3_600_000);
    expect(isWhole((await bucket.adopt({ runId: X })).leftUs)).toBe(true);
    await bucket.pass(10_000);
    expect(isWhole((await bucket.adopt({ runId: X })).leftUs, Q_US - 10_000_000)).toBe(true);
  });

  it('adopts 64 buckets in one script', async () => {
    const many = Array.from({ length: 64 }, () => new Bucket());
    await many[3]?.adopt({ runId: X, isNew: true });
    expect(await adoptAll(many, { runId: X })).toMatchObject({ word: 'OK', paused: 63, still: 63 });
  });

  it.each([
    ['first', (buckets: Bucket[]) => buckets],
    ['last', (buckets: Bucket[]) => buckets.reverse()],
  ])(
    'answers the longest pause, quarantine and overlap and the weakest durability, even if they are those of the %s bucket',
    async (_, order) => {
      const [far, near, good] = [new Bucket(), new Bucket(), new Bucket()];
      await far.adopt({ runId: X, durability: 'w', isNew: true, quarantineMs: 3 * Q_MS, overlapMs: 9000 });
      await far.adopt({ runId: X, durability: 'w', setForwardUs: 1000 });
      await near.adopt({ runId: X });
      await good.adopt({ runId: X, isNew: true });
      const answer = await adoptAll(order([far, near, good]), { runId: X });
      expect(answer).toMatchObject({ still: 2, cause: 'clock', weakest: 'w', overlap: '9000' });
      expect(answer.longestMs).toBe(String(3 * Q_MS));
      expect(isWhole(answer.leftUs, 3 * Q_US)).toBe(true);
    },
  );
});

describe('epoch-end', () => {
  it('ends the pause and answers its remaining time', async () => {
    const bucket = new Bucket();
    await bucket.adopt({ runId: X });
    const { word, leftUs, values } = await bucket.end(X);
    expect([word, ...values]).toEqual(['OK', '1', 'forgotten']);
    expect(isWhole(leftUs)).toBe(true);
    expect(await bucket.text()).toBe(`${X} a ${Q_MS} 0`);
    expect(await bucket.end(X)).toEqual({ word: 'OK', leftUs: 0, values: ['0', ''] });
    expect(await bucket.adopt({ runId: X })).toMatchObject({ still: 0 });
  });

  it.each([
    ['first', (buckets: Bucket[]) => buckets],
    ['last', (buckets: Bucket[]) => buckets.reverse()],
  ])('answers the longest ended pause, even if it is that of the %s bucket', async (_, order) => {
    const [far, near] = [new Bucket(), new Bucket()];
    await far.adopt({ runId: X, quarantineMs: 3 * Q_MS });
    await near.adopt({ runId: X, isNew: true });
    await near.adopt({ runId: X, setForwardUs: 1000 });
    const { leftUs, values } = await endAll(order([far, near]), X);
    expect(values).toEqual(['2', 'forgotten']);
    expect(isWhole(leftUs, 3 * Q_US)).toBe(true);
  });

  it('changes nothing if the run is another run or the deadline is over', async () => {
    const bucket = new Bucket();
    await bucket.adopt({ runId: X });
    const before = await bucket.text();
    expect(await bucket.end(Y)).toEqual({ word: 'OK', leftUs: 0, values: ['0', ''] });
    expect(await bucket.end(X, 1)).toEqual({ word: 'STALE', leftUs: 0, values: [] });
    expect(await bucket.text()).toBe(before);
  });

  it('changes nothing if no pause is in force', async () => {
    const bucket = new Bucket();
    expect(await bucket.end(X)).toEqual({ word: 'OK', leftUs: 0, values: ['0', ''] });
    expect(await bucket.text()).toBeNull();
  });
});

const KEY = 'test:{1}:mark';

describe('replication-mark', () => {
  let redis: RedisProcess;
  let replica: RedisProcess;
  beforeAll(async () => {
    [redis, replica] = await Promise.all([RedisProcess.start(), RedisProcess.start()]);
    // Without a replica Redis counts no writes.
    await replica.command('REPLICAOF', '127.0.0.1', redis.port);
    const isOnline = async () => String(await redis.command('INFO', 'replication')).includes('state=online');
    await eventually('the replica to be online', isOnline);
  });
  afterAll(() => Promise.all([redis.close(), replica.close()]));
  afterEach(() => redis.command('CONFIG', 'SET', 'maxmemory', '0'));

  const mark = () => redis.command('EVAL', replicationMark, 1, KEY, 50_000);

  it('writes in each call, so that WAIT has a write to wait for', async () => {
    await mark();
    const offset = async () =>
      Number(/^master_repl_offset:(\d+)/m.exec(String(await redis.command('INFO', 'replication')))?.[1]);
    const before = await offset();
    await mark();
    // A ping of the master to its replica has 14 bytes.
    expect((await offset()) - before).toBeGreaterThan(50);
    expect(Number(await redis.command('PTTL', KEY))).toBeGreaterThan(0);
    expect(Number(await redis.command('PTTL', KEY))).toBeLessThanOrEqual(50_000);
  });

  it('writes while the memory of Redis is full', async () => {
    await redis.command('CONFIG', 'SET', 'maxmemory', '1mb');
    expect(await mark()).toBe('OK');
  });
});
