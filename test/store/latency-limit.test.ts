import { LatencyLimit } from '../../src/redis/latency-limit';

/** The clock of Redis differs from the clock of this process. */
const CLOCK_DIFFERENCE_MS = 1.7e12;

interface Conditions {
  /** The time of the way to Redis and back. */
  readonly wayMs: number;
  readonly serviceMs: number;
  /** The time for which this process leaves each reply unread. */
  readonly unreadMs?: number;
}

/** A sender that always has more commands than the limit allows. Returns the time at the end. */
function saturate(limit: LatencyLimit, conditions: Conditions, startAt: number, forMs: number): number {
  const { wayMs, serviceMs, unreadMs = 0 } = conditions;
  let now = startAt;
  let freeAt = startAt;
  const inFlight: { leftAt: number; ranAt: number; readAt: number }[] = [];
  while (now < startAt + forMs) {
    limit.full();
    while (inFlight.length < limit.current) {
      const ranAt = Math.max(freeAt, now + wayMs / 2);
      freeAt = ranAt + serviceMs;
      inFlight.push({ leftAt: now, ranAt, readAt: freeAt + wayMs / 2 + unreadMs });
    }
    const { leftAt, ranAt, readAt } = inFlight.shift()!;
    now = Math.max(now, readAt);
    limit.answered(leftAt, ranAt + CLOCK_DIFFERENCE_MS, now);
  }
  return now;
}

const newLimit = () => new LatencyLimit({ least: 8, initial: 64 });

it('allows the number of commands in flight that a fast Redis carries out in some milliseconds', () => {
  const limit = newLimit();
  saturate(limit, { wayMs: 0.2, serviceMs: 0.05 }, 0, 5000);
  // At 0.05 ms a command, 60 commands before each command take 3 ms.
  expect(limit.current).toBeGreaterThan(40);
  expect(limit.current).toBeLessThan(150);
});

it('shrinks for a slow Redis, but not below its least value', () => {
  const limit = newLimit();
  saturate(limit, { wayMs: 0.2, serviceMs: 10 }, 0, 60_000);
  expect(limit.current).toBeGreaterThanOrEqual(8);
  expect(limit.current).toBeLessThan(12);
});

it('grows for a distant Redis, but not beyond the commands that are on the way', () => {
  const limit = newLimit();
  saturate(limit, { wayMs: 50, serviceMs: 0.1 }, 0, 20_000);
  // 50 ms of way take 500 commands of 0.1 ms, if the commands leave one by one. Here they leave in bursts.
  expect(limit.current).toBeGreaterThan(150);
  expect(limit.current).toBeLessThan(700);
});

it('does not shrink because this process reads the replies late', () => {
  const limit = newLimit();
  saturate(limit, { wayMs: 0.2, serviceMs: 0.05, unreadMs: 30 }, 0, 20_000);
  expect(limit.current).toBeGreaterThan(64);
});

it('adapts to a Redis that stays distant, because the shortest delay is measured again', () => {
  const limit = newLimit();
  const now = saturate(limit, { wayMs: 0.2, serviceMs: 0.05 }, 0, 5000);
  saturate(limit, { wayMs: 40, serviceMs: 0.1 }, now, 60_000);
  expect(limit.current).toBeGreaterThan(300);
});

it('stays as it is while the limit is not reached', () => {
  const limit = newLimit();
  for (let now = 0; now < 10_000; now += 1) limit.answered(now, now + (now % 200), now);
  expect(limit.current).toBe(64);
});
