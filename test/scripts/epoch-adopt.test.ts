import { epochAdopt, epochEnd } from '../../generated/redis/scripts';
import { RedisProcess } from '../support/processes/redis-process';

const [X, Y, Z] = ['a', 'b', 'c'].map((letter) => letter.repeat(40)) as [string, string, string];
const Q_MS = 20_000;
const Q_US = Q_MS * 1000;
const NEVER = Number.MAX_SAFE_INTEGER;
/** What a test on a busy machine may take between two commands. */
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

/** One bucket's epoch, as the scripts read and write it. */
class Bucket {
  readonly key = `test:{${(keys += 1)}}:epoch`;

  async adopt(adoption: Adoption) {
    const { runId, durability = 'a', quarantineMs = Q_MS, known = '' } = adoption;
    const { isNew = false, setForwardUs = 0, notAfter = NEVER, overlapMs = 0 } = adoption;
    const args = [runId, durability, quarantineMs, known, isNew ? 1 : 0, setForwardUs, notAfter, overlapMs];
    const reply = (await redis.command('EVAL', epochAdopt, 1, this.key, ...args)) as string[];
    const [word, paused, still, leftUs, cause, longestMs, weakest, overlap] = reply;
    return {
      word,
      paused: Number(paused),
      still: Number(still),
      leftUs: Number(leftUs),
      cause,
      longestMs,
      weakest,
      overlap,
    };
  }

  async end(runId: string, notAfter = NEVER) {
    return (await redis.command('EVAL', epochEnd, 1, this.key, runId, notAfter)) as string[];
  }

  async text(): Promise<string> {
    return (await redis.command('GET', this.key)) as string;
  }

  /** As if so much time had passed. */
  async pass(ms: number): Promise<void> {
    const [run, durability, longest, overlap, since, til, ...rest] = (await this.text()).split(' ');
    const moved = [since, til].map((time) => BigInt(time as string) - BigInt(ms * 1000));
    await redis.command('SET', this.key, [run, durability, longest, overlap, ...moved, ...rest].join(' '));
  }
}

/** It pauses for a whole quarantine from now. */
const aWhole = (leftUs: number, whole = Q_US) => leftUs > whole - SLACK_US && leftUs <= whole;

describe('epoch-adopt', () => {
  it('takes a bucket without an epoch for forgotten, unless it is said to be new', async () => {
    const forgotten = new Bucket();
    const answer = await forgotten.adopt({ runId: X });
    expect(answer).toMatchObject({ paused: 1, still: 1, cause: 'forgotten' });
    expect(aWhole(answer.leftUs)).toBe(true);
    const fresh = new Bucket();
    expect(await fresh.adopt({ runId: X, isNew: true })).toMatchObject({ paused: 0, still: 0, leftUs: 0 });
    expect(await fresh.text()).toBe(`${X} a ${Q_MS} 0`);
  });

  it('takes what it does not understand for forgotten', async () => {
    const bucket = new Bucket();
    await redis.command('SET', bucket.key, 'what a hand wrote');
    expect(await bucket.adopt({ runId: X })).toMatchObject({ paused: 1, cause: 'forgotten' });
  });

  it.each([
    ['of a new store', {}, { isNew: true }],
    ['of a restart', { runId: X, isNew: true }, { known: X }],
    ['of a clock set forward', { runId: Y, isNew: true }, { setForwardUs: 1000 }],
  ])('does nothing when the word %s comes too late', async (_, before, late) => {
    const bucket = new Bucket();
    if ('runId' in before) await bucket.adopt(before);
    const text = await bucket.text();
    expect(await bucket.adopt({ runId: Y, ...late, notAfter: 1 })).toMatchObject({ word: 'STALE', still: 0 });
    expect(await bucket.text()).toBe(text);
  });

  it.each([
    ['always, and always again', { before: 'a', after: 'a', known: '' }, false],
    ['always, to a server that knew that run', { before: 'a', after: 'a', known: X }, false],
    ['always, to a server that has heard of a run between', { before: 'a', after: 'a', known: Z }, true],
    ['always, and less now', { before: 'a', after: 'w', known: X }, true],
    ['less, and always now', { before: 'w', after: 'a', known: X }, true],
    ['less', { before: 'w', after: 'w', known: X }, true],
  ] as const)(
    'after a restart, with every write on disk: %s',
    async (_, { before, after, known }, pauses) => {
      const bucket = new Bucket();
      await bucket.adopt({ runId: X, durability: before, isNew: true });
      const answer = await bucket.adopt({ runId: Y, durability: after, known });
      expect(answer.still).toBe(pauses ? 1 : 0);
      if (pauses) expect(answer.cause).toBe('restarted');
      if (pauses) expect(aWhole(answer.leftUs)).toBe(true);
      expect(await bucket.text()).toMatch(new RegExp(`^${Y} ${after} ${Q_MS}`));
    },
  );

  it('is paused for a restart still where the clock of the new run is ahead, too', async () => {
    const bucket = new Bucket();
    await bucket.adopt({ runId: X, isNew: true, durability: 'w' });
    expect(await bucket.adopt({ runId: Y, setForwardUs: 1000 })).toMatchObject({ cause: 'restarted' });
    expect(await bucket.adopt({ runId: Y, setForwardUs: 1000 })).toMatchObject({ cause: 'restarted' });
    expect(await bucket.text()).toMatch(/ 1000 restarted$/);
  });

  it('keeps the longest overlap of a run, and none of the run before', async () => {
    const bucket = new Bucket();
    await bucket.adopt({ runId: X, isNew: true, overlapMs: 12_000 });
    expect(await bucket.adopt({ runId: X, overlapMs: 4000 })).toMatchObject({ overlap: '12000' });
    expect(await bucket.adopt({ runId: Y })).toMatchObject({ overlap: '0' });
  });

  it('remembers the weakest durability of a run: what was granted then may be lost', async () => {
    const bucket = new Bucket();
    await bucket.adopt({ runId: X, isNew: true });
    expect(await bucket.adopt({ runId: X, durability: 'w' })).toMatchObject({ still: 0, weakest: 'w' });
    expect(await bucket.adopt({ runId: X, durability: 'a' })).toMatchObject({ still: 0, weakest: 'w' });
    expect(await bucket.adopt({ runId: Y, durability: 'a' })).toMatchObject({ still: 1, weakest: 'a' });
  });

  it('neither begins anew nor ends sooner when repeated, or by another server', async () => {
    const bucket = new Bucket();
    await bucket.adopt({ runId: X });
    const first = await bucket.text();
    for (const again of [{}, { isNew: true }, { known: X }, { quarantineMs: 1 }]) {
      expect(await bucket.adopt({ runId: X, ...again })).toMatchObject({ paused: 0, still: 1 });
      expect(await bucket.text()).toBe(first);
    }
  });

  it('lasts as long as any server allows leases to, counted from its beginning', async () => {
    const bucket = new Bucket();
    await bucket.adopt({ runId: X });
    await bucket.pass(5000);
    const { leftUs, longestMs } = await bucket.adopt({ runId: X, quarantineMs: 3 * Q_MS });
    expect(longestMs).toBe(String(3 * Q_MS));
    expect(aWhole(leftUs, 3 * Q_US - 5_000_000)).toBe(true);
    // And the next one too, whoever adopts then.
    const next = await bucket.adopt({ runId: Y, durability: 'w', quarantineMs: 1 });
    expect(aWhole(next.leftUs, 3 * Q_US)).toBe(true);
  });

  it('goes on over a restart that loses nothing', async () => {
    const bucket = new Bucket();
    await bucket.adopt({ runId: X });
    await bucket.pass(5000);
    const { paused, still, leftUs, cause } = await bucket.adopt({ runId: Y, known: X });
    expect({ paused, still, cause }).toEqual({ paused: 0, still: 1, cause: 'forgotten' });
    expect(aWhole(leftUs, Q_US - 5_000_000)).toBe(true);
  });

  it('is over when its time has come', async () => {
    const bucket = new Bucket();
    await bucket.adopt({ runId: X });
    await bucket.pass(Q_MS);
    expect(await bucket.adopt({ runId: X })).toMatchObject({ still: 0, leftUs: 0 });
    expect(await bucket.text()).toBe(`${X} a ${Q_MS} 0`);
  });

  it('begins anew when the clock was set forward, and says how far', async () => {
    const bucket = new Bucket();
    await bucket.adopt({ runId: X, isNew: true });
    const { paused, leftUs, cause } = await bucket.adopt({ runId: X, setForwardUs: 7_000_000 });
    expect({ paused, cause }).toEqual({ paused: 1, cause: 'clock' });
    expect(aWhole(leftUs)).toBe(true);
    expect(await bucket.text()).toMatch(/ 7000000 clock$/);
    await bucket.pass(Q_MS);
    await bucket.adopt({ runId: X });
    expect(await bucket.text()).toBe(`${X} a ${Q_MS} 0`);
  });

  it('never lasts longer than itself, when the clock was set back', async () => {
    const bucket = new Bucket();
    await bucket.adopt({ runId: X });
    await bucket.pass(-3_600_000);
    expect(aWhole((await bucket.adopt({ runId: X })).leftUs)).toBe(true);
  });

  it('does as much for many at once', async () => {
    const many = Array.from({ length: 64 }, () => new Bucket());
    await many[3]?.adopt({ runId: X, isNew: true });
    const all = many.map(({ key }) => key);
    const reply = await redis.command('EVAL', epochAdopt, 64, ...all, X, 'a', Q_MS, '', 0, 0, NEVER, 0);
    expect((reply as string[]).slice(0, 3)).toEqual(['OK', '63', '63']);
  });
});

describe('epoch-end', () => {
  it('ends a pause and says how long it had to go', async () => {
    const bucket = new Bucket();
    await bucket.adopt({ runId: X });
    const [word, ended, left, cause] = await bucket.end(X);
    expect([word, ended, cause]).toEqual(['OK', '1', 'forgotten']);
    expect(aWhole(Number(left))).toBe(true);
    expect(await bucket.text()).toBe(`${X} a ${Q_MS} 0`);
    expect(await bucket.end(X)).toEqual(['OK', '0', '0', '']);
    expect(await bucket.adopt({ runId: X })).toMatchObject({ still: 0 });
  });

  it('does not speak for another run of Redis, nor run late', async () => {
    const bucket = new Bucket();
    await bucket.adopt({ runId: X });
    const before = await bucket.text();
    expect(await bucket.end(Y)).toEqual(['OK', '0', '0', '']);
    expect(await bucket.end(X, 1)).toEqual(['STALE', '0', '0', '']);
    expect(await bucket.text()).toBe(before);
  });

  it('changes nothing where nothing is paused', async () => {
    const bucket = new Bucket();
    expect(await bucket.end(X)).toEqual(['OK', '0', '0', '']);
    expect(await bucket.text()).toBeNull();
  });
});
