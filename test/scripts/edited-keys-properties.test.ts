import fc from 'fast-check';
import type { Resource } from '../../src/leases/lease';
import { LeaseFixture } from '../support/leases/lease-fixture';
import { PARTS } from '../support/leases/lease-stored';
import { Requester } from '../support/leases/lease-requester';
import { is } from '../support/reply-kinds';
import { assertWithinTime } from '../support/timed-property';

const LIMIT = 3;
const REQUESTERS = 6;
const SETS = ['ends', 'offers', 'queue', 'detached'] as const;

/** A command of one request, or a manual edit of the data of this request. */
const requestSteps = [
  ...['try', 'queue', 'heartbeat', 'withdraw', 'giveBack', 'renew', 'release'],
  ...['delete record', 'remove member'],
] as const;
const step = fc.oneof(
  fc.record({
    by: fc.nat(REQUESTERS - 1),
    what: fc.constantFrom(...requestSteps),
    set: fc.constantFrom(...SETS),
  }),
  fc.record({ pass: fc.constantFrom(100, 3001, 10_001, 31_000, 61_000) }),
  fc.record({ deleted: fc.constantFrom('head', ...PARTS) }),
  fc.record({ ghost: fc.constantFrom(...SETS) }),
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

describe.each([
  ['', false],
  [', with room for two leases and two tombstones in the head', true],
])('after random commands of two servers and random manual edits%s', (_, smallHead) => {
  let fixture: LeaseFixture;
  beforeAll(async () => {
    fixture = await LeaseFixture.open({ frozenClock: true, smallHead });
  });
  afterAll(() => fixture.close());

  async function carryOut(semaphore: Resource, requesters: readonly Requester[], step: Step): Promise<void> {
    const { redis } = fixture;
    const state = fixture.key(semaphore, 'state');
    if ('pass' in step) return fixture.passInUse(semaphore, step.pass);
    if ('ghost' in step) {
      const isStored = (await redis.command('HEXISTS', state, 'h')) === 1;
      return isStored
        ? fixture.addGhost(semaphore, step.ghost, Number(await fixture.now()) + 5e6)
        : undefined;
    }
    if ('deleted' in step) {
      if (step.deleted === 'head') await redis.command('HDEL', state, 'h');
      else await redis.command('DEL', fixture.key(semaphore, step.deleted));
      return;
    }
    const by = requesters[step.by] as Requester;
    switch (step.what) {
      case 'heartbeat':
        if ((await by.touch()).waiters[0] === 'recheck') await by.claim();
        return;
      case 'renew':
      case 'release':
        return void (await by[step.what](by.secret));
      case 'delete record':
        return void (await redis.command('HDEL', state, `r${by.requestId}`));
      case 'remove member':
        return void (await redis.command('ZREM', fixture.key(semaphore, step.set), by.requestId));
      default:
        await by[step.what]();
    }
  }

  /** The permits of all requests that the store lets renew. */
  async function permitsOut(semaphore: Resource): Promise<number> {
    const { records, sets } = await fixture.stored(semaphore);
    const now = Number(await fixture.now());
    const held = sets.ends.filter(({ id, score }) => records[id]?.state === 'held' && score > now);
    return held.reduce((sum, { id }) => sum + Number(records[id]?.permits), 0);
  }

  async function comesToRest(semaphore: Resource): Promise<void> {
    const witness = await fixture.server('witness');
    for (let minute = 0; minute < 4; minute += 1) {
      await fixture.passInUse(semaphore, 61_000);
      await witness.store.touch(semaphore, []);
      await fixture.passInUse(semaphore, 4000);
      await witness.store.touch(semaphore, []);
    }
    is('granted', await new Requester(witness, semaphore, { permits: LIMIT }).try());
  }

  it('no script fails, no grant exceeds the limit, all permits can be had at rest, and every key expires', async () => {
    await assertWithinTime(
      fc.array(step, { minLength: 5, maxLength: 50, size: 'max' }),
      async (steps) => {
        const semaphore = fixture.resource('semaphore');
        is('set', await fixture.setLimit(semaphore, LIMIT));
        const requesters = await Promise.all(
          Array.from({ length: REQUESTERS }, (_, i) =>
            fixture.request(i % 2 ? 's1' : 's2', semaphore, { permits: (i % 3) + 1, initialLimit: LIMIT }),
          ),
        );
        for (const step of steps) {
          await carryOut(semaphore, requesters, step);
          expect(await permitsOut(semaphore)).toBeLessThanOrEqual(LIMIT);
        }
        await comesToRest(semaphore);
        for (const part of PARTS) {
          const ttl = Number(await fixture.redis.command('PTTL', fixture.key(semaphore, part)));
          expect([part, ttl]).not.toEqual([part, -1]);
        }
      },
      { runs: 1000, timeLimitMs: 4000 },
    );
  }, 100_000);
});
