import { Redis } from 'ioredis';
import type { Contender, Permit, Place } from '../../bench/chapter/contender';
import { locks, semaphores } from '../../bench/chapter/contenders';
import { monotonicMs } from '../../bench/support/monotonic';
import { eventually } from '../support/eventually';
import { RedisProcess } from '../support/processes/redis-process';

/**
 * What the benchmark puts beside Holdfast must be what the chapter publishes, no better and no worse: it works where
 * the chapter says so, and it fails by the very interleavings that the chapter tells of.
 */

const LONG_MS = 60_000;
const SHORT_MS = 50;
const ONCE_MS = 0;
/** For the package, which does not try at all without time. */
const SOON_MS = 100;

const { 'Holdfast semaphore': _ourSemaphore, ...theirSemaphores } = semaphores;
const { 'Holdfast lock': _ourLock, ...theirLocks } = locks;

type Named = [name: string, make: (place: Place) => Contender];

let redis: RedisProcess;
const clients: Redis[] = [];
let names = 0;
let name: string;

beforeAll(async () => {
  redis = await RedisProcess.start();
});
afterAll(async () => {
  for (const client of clients) client.disconnect();
  await redis.close();
});
beforeEach(() => {
  name = `name-${++names}`;
});

/** A worker; `limit` permits if it is a semaphore. */
function place(change: Partial<Place> = {}): Place {
  const client = new Redis(redis.port);
  clients.push(client);
  const still = () => Promise.resolve();
  return { redis: client, address: '', limit: 2, clock: Date.now, pause: still, ...change };
}

/** Stops whoever takes this step, as its first one is 1, until it is let go. */
function stopAt(step: number) {
  let taken = 0;
  let go = (): void => undefined;
  const gate = new Promise<void>((resolve) => (go = resolve));
  const pause = (): Promise<void> => (++taken === step ? gate : Promise.resolve());
  return { pause, go: () => go(), stopped: () => eventually('it is at the step', () => taken >= step) };
}

async function granted(permit: Promise<Permit | undefined>): Promise<Permit> {
  const answer = await permit;
  if (answer === undefined) throw new Error('not granted');
  return answer;
}

/** Who asks within the same one as others comes before or after them by chance, where time stamps decide. */
async function nextMillisecond(): Promise<void> {
  const before = Date.now();
  await eventually('the clock to go on', () => Date.now() > before);
}

describe.each(Object.entries(theirSemaphores) as Named[])('%s', (_, make) => {
  test('grants one after the other up to the limit, and again after a release', async () => {
    const [first, second, third] = [make(place()), make(place()), make(place())];
    const permit = await granted(first.acquire(name, LONG_MS, SOON_MS));
    await nextMillisecond();
    await granted(second.acquire(name, LONG_MS, SOON_MS));
    await nextMillisecond();
    expect(await third.acquire(name, LONG_MS, SOON_MS)).toBeUndefined();
    await permit.release();
    await granted(third.acquire(name, LONG_MS, SOON_MS));
  });

  test('a permit whose time is over comes back', async () => {
    const semaphore = make(place({ limit: 1 }));
    const dead = await granted(semaphore.acquire(name, SHORT_MS, SOON_MS));
    dead.abandon?.();
    const next = await granted(semaphore.acquire(name, SHORT_MS, LONG_MS));
    // One that refreshes by itself would still do so when the connection is closed.
    await next.release();
  });
});

describe.each(Object.entries(theirLocks) as Named[])('%s', (_, make) => {
  test('of many at the same time one is granted, and another one after its release', async () => {
    const many = Array.from({ length: 10 }, () => make(place({ limit: 1 })));
    const answers = await Promise.all(many.map((lock) => lock.acquire(name, LONG_MS, ONCE_MS + 1)));
    const [permit, ...others] = answers.filter((answer) => answer !== undefined);
    expect(others).toEqual([]);
    await permit!.release();
    await granted(many[0]!.acquire(name, LONG_MS, SOON_MS));
  });
});

test('basic: a clock behind steals the permit of a holder whose clock is ahead', async () => {
  const ahead = semaphores['basic, time stamps'](place({ limit: 1, clock: () => Date.now() + 1000 }));
  const behind = semaphores['basic, time stamps'](place({ limit: 1 }));
  await granted(ahead.acquire(name, LONG_MS, ONCE_MS));
  await granted(behind.acquire(name, LONG_MS, ONCE_MS));
});

test('fair: who counted first and ranks later is granted beside who ranked first', async () => {
  const { pause, go, stopped } = stopAt(2);
  const slow = semaphores['fair, counter'](place({ limit: 1, pause })).acquire(name, LONG_MS, ONCE_MS);
  await stopped();
  await granted(semaphores['fair, counter'](place({ limit: 1 })).acquire(name, LONG_MS, ONCE_MS));
  go();
  await granted(slow);
});

test('fair: a refresh keeps what is held, and does not put back what was taken', async () => {
  const semaphore = semaphores['fair, counter'](place({ limit: 1 }));
  const held = await granted(semaphore.acquire(name, LONG_MS, ONCE_MS));
  expect(await held.refresh!()).toBe(true);
  const ahead = semaphores['fair, counter'](place({ limit: 1, clock: () => Date.now() + LONG_MS }));
  const thief = await granted(ahead.acquire(name, LONG_MS, ONCE_MS));
  expect(await held.refresh!()).toBe(false);
  await thief.release();
  await granted(semaphore.acquire(name, LONG_MS, ONCE_MS));
});

test('correct: who is stopped within its try is waited for, and nobody is granted beside it', async () => {
  const { pause, go, stopped } = stopAt(2);
  const correct = semaphores['correct, fair with a lock'];
  const slow = correct(place({ limit: 1, pause })).acquire(name, LONG_MS, ONCE_MS);
  await stopped();
  expect(await correct(place({ limit: 1 })).acquire(name, LONG_MS, ONCE_MS)).toBeUndefined();
  go();
  await granted(slow);
  expect(await correct(place({ limit: 1 })).acquire(name, LONG_MS, ONCE_MS)).toBeUndefined();
});

test('SETNX: a lock whose holder died is held for ever', async () => {
  await granted(locks.SETNX(place()).acquire(name, SHORT_MS, ONCE_MS));
  expect(await locks.SETNX(place()).acquire(name, SHORT_MS, 4 * SHORT_MS)).toBeUndefined();
});

test('SETNX + EXPIRE: a lock whose holder died between the two is repaired', async () => {
  const { pause, stopped } = stopAt(1);
  void locks['SETNX + EXPIRE'](place({ pause })).acquire(name, SHORT_MS, ONCE_MS);
  await stopped();
  await granted(locks['SETNX + EXPIRE'](place()).acquire(name, SHORT_MS, LONG_MS));
});

test('SETNX + EXPIRE: whoever repairs it with a shorter time ends the lock of a holder that lives', async () => {
  const repairer = stopAt(2);
  const holder = stopAt(1);
  const { 'SETNX + EXPIRE': make } = locks;
  const first = make(place({ pause: holder.pause })).acquire(name, LONG_MS, ONCE_MS);
  await holder.stopped();
  const second = make(place({ pause: repairer.pause })).acquire(name, SHORT_MS, LONG_MS);
  await repairer.stopped();
  holder.go();
  const held = await granted(first);
  repairer.go();
  await granted(second);
  expect(held.until).toBeGreaterThan(monotonicMs());
});

/** Two see the same dead lock and take it over, one after the other. */
async function takeOvers(make: (place: Place) => Contender): Promise<(Permit | undefined)[]> {
  await granted(make(place()).acquire(name, SHORT_MS, ONCE_MS));
  const end = Date.now() + 2 * SHORT_MS;
  await eventually('the lock is dead', () => Date.now() > end);
  // Each takes two steps to see it, and the next one takes it over.
  const [early, late] = [stopAt(3), stopAt(3)];
  const first = make(place({ pause: early.pause })).acquire(name, LONG_MS, ONCE_MS);
  const second = make(place({ pause: late.pause })).acquire(name, LONG_MS, ONCE_MS);
  await Promise.all([early.stopped(), late.stopped()]);
  early.go();
  const firstAnswer = await first;
  late.go();
  return [firstAnswer, await second];
}

test('DEL + SETNX: two who saw the same dead lock both get it', async () => {
  const [first, second] = await takeOvers(locks['DEL + SETNX take-over']);
  expect([first !== undefined, second !== undefined]).toEqual([true, true]);
});

test('GETSET: of two who saw the same dead lock the first gets it', async () => {
  const [first, second] = await takeOvers(locks['GETSET take-over']);
  expect([first !== undefined, second !== undefined]).toEqual([true, false]);
});

test('GETSET: a clock ahead takes the lock of a holder that lives', async () => {
  const ahead = place({ clock: () => Date.now() + 2 * LONG_MS });
  await granted(locks['GETSET take-over'](place()).acquire(name, LONG_MS, ONCE_MS));
  await granted(locks['GETSET take-over'](ahead).acquire(name, LONG_MS, ONCE_MS));
});
