import { epochAdopt, epochEnd } from '../../generated/redis/scripts';
import { readGuardedReply } from '../../src/redis/connection/guarded-reply';
import type { Reply } from '../../src/redis/connection/script-command';
import { RedisProcess } from '../support/processes/redis-process';

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
}

let redis: RedisProcess;
let keys = 0;
beforeAll(async () => {
  redis = await RedisProcess.start({ appendfsync: 'no' });
});
afterAll(() => redis.close());

class Bucket {
  readonly key = `test:{${(keys += 1)}}:epoch`;

  async adopt(adoption: Adoption) {
    const { runId, durability = 'a', quarantineMs = Q_MS, known = '' } = adoption;
    const { isNew = false, setForwardUs = 0, notAfter = NEVER, overlapMs = 0 } = adoption;
    const args = [runId, durability, quarantineMs, known, isNew ? 1 : 0, setForwardUs, notAfter, overlapMs];
    const raw = (await redis.command('EVAL', epochAdopt, 1, this.key, ...args)) as Reply[];
    const { word, pauseMs, values } = readGuardedReply(raw, 0);
    const [paused, still, cause, longestMs, weakest, overlap] = values;
    return {
      word,
      paused: Number(paused),
      still: Number(still),
      leftUs: pauseMs * 1000,
      cause,
      longestMs,
      weakest,
      overlap,
    };
  }

  async end(runId: string, notAfter = NEVER) {
    const raw = (await redis.command('EVAL', epochEnd, 1, this.key, runId, notAfter)) as Reply[];
    const { word, pauseMs, values } = readGuardedReply(raw, 0);
    return { word, leftUs: pauseMs * 1000, values };
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

  it('keeps the longest overlap of a run, and drops the overlap of the previous run', async () => {
    const bucket = new Bucket();
    await bucket.adopt({ runId: X, isNew: true, overlapMs: 12_000 });
    expect(await bucket.adopt({ runId: X, overlapMs: 4000 })).toMatchObject({ overlap: '12000' });
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

  it('shortens the pause to one quarantine if the clock was set back', async () => {
    const bucket = new Bucket();
    await bucket.adopt({ runId: X });
    await bucket.pass(-3_600_000);
    expect(isWhole((await bucket.adopt({ runId: X })).leftUs)).toBe(true);
  });

  it('adopts 64 buckets in one script', async () => {
    const many = Array.from({ length: 64 }, () => new Bucket());
    await many[3]?.adopt({ runId: X, isNew: true });
    const all = many.map(({ key }) => key);
    const reply = await redis.command('EVAL', epochAdopt, 64, ...all, X, 'a', Q_MS, '', 0, 0, NEVER, 0);
    const { word, values } = readGuardedReply(reply as Reply[], 0);
    expect([word, ...values.slice(0, 2)]).toEqual(['OK', '63', '63']);
  });
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
