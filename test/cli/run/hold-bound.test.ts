import { HoldBound } from '../../../src/cli/run/under-lease';

const DAY_MS = 86_400_000;

let now: number;
let passed: number;
let bound: HoldBound | undefined;

beforeEach(() => {
  jest.useFakeTimers();
  now = 0;
  passed = 0;
});

afterEach(() => {
  bound?.clear();
  jest.useRealTimers();
});

function start(maxHoldMs: number | undefined): HoldBound {
  bound = new HoldBound(
    maxHoldMs,
    () => passed++,
    () => now,
  );
  return bound;
}

/** Moves the clock and the timers, in steps of at most a minute. */
function pass(ms: number): void {
  for (let left = ms; left > 0; left -= 60_000) {
    const step = Math.min(left, 60_000);
    now += step;
    jest.advanceTimersByTime(step);
  }
}

test('passes once, after its time', () => {
  const { hasPassed } = start(300);
  expect(hasPassed).toBe(false);
  pass(299);
  expect(passed).toBe(0);
  pass(1);
  expect([passed, bound?.hasPassed]).toEqual([1, true]);
  pass(DAY_MS);
  expect(passed).toBe(1);
});

// A timer of Node with more than 2^31-1 ms fires after 1 ms.
test('passes after its time if the time is longer than a timer of Node can be', () => {
  start(30 * DAY_MS);
  pass(29 * DAY_MS);
  expect(passed).toBe(0);
  pass(DAY_MS);
  expect(passed).toBe(1);
});

test('passes after the sleep of a machine that was suspended beyond the time', () => {
  start(10 * DAY_MS);
  now += 11 * DAY_MS;
  jest.advanceTimersByTime(60_000);
  expect(passed).toBe(1);
});

test('never passes without a time', () => {
  start(undefined);
  pass(DAY_MS);
  expect(passed).toBe(0);
});
