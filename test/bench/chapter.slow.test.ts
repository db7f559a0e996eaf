import { Redis } from 'ioredis';
import type { Contender, Permit, Place } from '../../bench/chapter/contender';
import { locks, semaphores } from '../../bench/chapter/contenders';
import { MarkerCompletion } from '../../bench/chapter/marker-completion';
import { countOverIssued } from '../../bench/chapter/over-issue';
import { monotonicMs } from '../../bench/support/monotonic';
import { eventually } from '../support/eventually';
import { RedisProcess } from '../support/processes/redis-process';

describe('the contenders', () => {
  /**
   * Checks the benchmark's ports of the algorithms of the chapter (bench/chapter/README.md). Each port works where the chapter
   * says that the algorithm works, and fails in the interleavings in which the chapter says that the algorithm fails.
   */

  const LONG_MS = 60_000;
  const SHORT_MS = 50;
  const ONCE_MS = 0;
  /** The shortest wait of these tests, because the package `redis-semaphore` never tries with a wait of 0. */
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

  /** The connection, clock, pauses and limit of a worker. Locks ignore the limit. */
  function place(change: Partial<Place> = {}): Place {
    const client = new Redis(redis.port);
    clients.push(client);
    const still = () => Promise.resolve();
    return { redis: client, address: '', limit: 2, clock: Date.now, pause: still, ...change };
  }

  /** Stops a worker at its n-th step (the first is 1) until `go` is called. */
  function stopAt(step: number) {
    let taken = 0;
    let go = (): void => undefined;
    const gate = new Promise<void>((resolve) => (go = resolve));
    const pause = (): Promise<void> => (++taken === step ? gate : Promise.resolve());
    return {
      pause,
      go: () => go(),
      stopped: () => eventually('the worker to be at the step', () => taken >= step),
    };
  }

  async function granted(permit: Promise<Permit | undefined>): Promise<Permit> {
    const answer = await permit;
    if (answer === undefined) throw new Error('not granted');
    return answer;
  }

  /** Time stamps do not order two requests within one millisecond. */
  async function nextMillisecond(): Promise<void> {
    const before = Date.now();
    await eventually('the clock to go on', () => Date.now() > before);
  }

  describe.each(Object.entries(theirSemaphores) as Named[])('the semaphore "%s"', (_, make) => {
    test('grants no more permits than the limit, and another permit after a release', async () => {
      const [first, second, third] = [make(place()), make(place()), make(place())];
      const permit = await granted(first.acquire(name, LONG_MS, SOON_MS));
      await nextMillisecond();
      await granted(second.acquire(name, LONG_MS, SOON_MS));
      await nextMillisecond();
      expect(await third.acquire(name, LONG_MS, SOON_MS)).toBeUndefined();
      await permit.release();
      await granted(third.acquire(name, LONG_MS, SOON_MS));
    });

    test('grants the permit of a dead holder after its ttl', async () => {
      const semaphore = make(place({ limit: 1 }));
      const dead = await granted(semaphore.acquire(name, SHORT_MS, SOON_MS));
      dead.abandon?.();
      const next = await granted(semaphore.acquire(name, SHORT_MS, LONG_MS));
      // Without this release a package with automatic refreshes would go on after its connection is closed.
      await next.release();
    });
  });

  describe.each(Object.entries(theirLocks) as Named[])('the lock "%s"', (_, make) => {
    test('grants one of ten concurrent requests, and another request after the release', async () => {
      const many = Array.from({ length: 10 }, () => make(place({ limit: 1 })));
      const answers = await Promise.all(many.map((lock) => lock.acquire(name, LONG_MS, ONCE_MS + 1)));
      const [permit, ...others] = answers.filter((answer) => answer !== undefined);
      expect(others).toEqual([]);
      await permit!.release();
      await granted(many[0]!.acquire(name, LONG_MS, SOON_MS));
    });
  });

  test('basic semaphore: a caller with a slow clock takes the permit of a holder with a fast clock', async () => {
    const ahead = semaphores['basic, time stamps'](place({ limit: 1, clock: () => Date.now() + 1000 }));
    const behind = semaphores['basic, time stamps'](place({ limit: 1 }));
    await granted(ahead.acquire(name, LONG_MS, ONCE_MS));
    await granted(behind.acquire(name, LONG_MS, ONCE_MS));
  });

  test('fair semaphore: two callers get the only permit if the first to count is the second to rank', async () => {
    const { pause, go, stopped } = stopAt(2);
    const slow = semaphores['fair, counter'](place({ limit: 1, pause })).acquire(name, LONG_MS, ONCE_MS);
    await stopped();
    await granted(semaphores['fair, counter'](place({ limit: 1 })).acquire(name, LONG_MS, ONCE_MS));
    go();
    await granted(slow);
  });

  test('fair semaphore: a refresh keeps a held permit, and does not restore a permit that another caller took', async () => {
    const semaphore = semaphores['fair, counter'](place({ limit: 1 }));
    const held = await granted(semaphore.acquire(name, LONG_MS, ONCE_MS));
    expect(await held.refresh!()).toBe(true);
    const ahead = semaphores['fair, counter'](place({ limit: 1, clock: () => Date.now() + LONG_MS }));
    const thief = await granted(ahead.acquire(name, LONG_MS, ONCE_MS));
    expect(await held.refresh!()).toBe(false);
    await thief.release();
    await granted(semaphore.acquire(name, LONG_MS, ONCE_MS));
  });

  test('semaphore with a lock: no other caller is granted while a caller is paused within its attempt', async () => {
    const { pause, go, stopped } = stopAt(2);
    const correct = semaphores['correct, fair with a lock'];
    const slow = correct(place({ limit: 1, pause })).acquire(name, LONG_MS, ONCE_MS);
    await stopped();
    expect(await correct(place({ limit: 1 })).acquire(name, LONG_MS, ONCE_MS)).toBeUndefined();
    go();
    await granted(slow);
    expect(await correct(place({ limit: 1 })).acquire(name, LONG_MS, ONCE_MS)).toBeUndefined();
  });

  test('SETNX lock: the lock of a dead holder never becomes free', async () => {
    await granted(locks.SETNX(place()).acquire(name, SHORT_MS, ONCE_MS));
    expect(await locks.SETNX(place()).acquire(name, SHORT_MS, 4 * SHORT_MS)).toBeUndefined();
  });

  test('SETNX + EXPIRE lock: another caller repairs the lock of a holder that died between the two commands', async () => {
    const { pause, stopped } = stopAt(1);
    void locks['SETNX + EXPIRE'](place({ pause })).acquire(name, SHORT_MS, ONCE_MS);
    await stopped();
    await granted(locks['SETNX + EXPIRE'](place()).acquire(name, SHORT_MS, LONG_MS));
  });

  test('SETNX + EXPIRE lock: a repair with a shorter time ends the lock of a live holder', async () => {
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

  /** Two callers see the same dead lock, and then take the lock over in turn. */
  async function takeOvers(make: (place: Place) => Contender): Promise<(Permit | undefined)[]> {
    await granted(make(place()).acquire(name, SHORT_MS, ONCE_MS));
    const end = Date.now() + 2 * SHORT_MS;
    await eventually('the end of the lock', () => Date.now() > end);
    // A caller sees the dead lock with its second step, and takes the lock over with its third step.
    const [early, late] = [stopAt(3), stopAt(3)];
    const first = make(place({ pause: early.pause })).acquire(name, LONG_MS, ONCE_MS);
    const second = make(place({ pause: late.pause })).acquire(name, LONG_MS, ONCE_MS);
    await Promise.all([early.stopped(), late.stopped()]);
    early.go();
    const firstAnswer = await first;
    late.go();
    return [firstAnswer, await second];
  }

  test('DEL + SETNX lock: two callers that saw the same dead lock both get the lock', async () => {
    const [first, second] = await takeOvers(locks['DEL + SETNX take-over']);
    expect([first !== undefined, second !== undefined]).toEqual([true, true]);
  });

  test('GETSET lock: only the first of two callers that saw the same dead lock gets the lock', async () => {
    const [first, second] = await takeOvers(locks['GETSET take-over']);
    expect([first !== undefined, second !== undefined]).toEqual([true, false]);
  });

  test('GETSET lock: a caller with a fast clock takes the lock of a live holder', async () => {
    const ahead = place({ clock: () => Date.now() + 2 * LONG_MS });
    await granted(locks['GETSET take-over'](place()).acquire(name, LONG_MS, ONCE_MS));
    await granted(locks['GETSET take-over'](ahead).acquire(name, LONG_MS, ONCE_MS));
  });
});

describe('completion with markers', () => {
  /** Checks the benchmark's port of the marker completion: behaviours 6 to 9 of docs/design/chapter.md. */

  const SET = 'members';
  const NAMES = ['ana', 'anabel', 'anabelle', 'anastasia', 'andrea', 'an zhu', 'bea', 'zoe'];

  let redis: RedisProcess;
  const clients: Redis[] = [];

  function client(): Redis {
    const made = new Redis(redis.port);
    clients.push(made);
    return made;
  }

  beforeAll(async () => {
    redis = await RedisProcess.start();
  });
  afterAll(async () => {
    for (const redisClient of clients) redisClient.disconnect();
    await redis.close();
  });
  beforeEach(async () => {
    const writer = client();
    await writer.del(SET);
    for (const name of NAMES) await writer.zadd(SET, '0', name);
  });

  test('MarkerCompletion answers the names with the prefix in order, and removes its markers', async () => {
    const completion = new MarkerCompletion(client(), SET);
    expect(await completion.complete('ana')).toEqual(['ana', 'anabel', 'anabelle', 'anastasia']);
    expect(await completion.complete('an ')).toEqual(['an zhu']);
    expect(await completion.complete('x')).toEqual([]);
    expect(await client().zcard(SET)).toBe(NAMES.length);
    expect(completion.retries).toBe(0);
  });

  test('MarkerCompletion answers at most ten names', async () => {
    const many = Array.from(
      { length: 30 },
      (_, index) => `kim ${String.fromCharCode(97 + index / 26)}${index}`,
    );
    for (const name of many) await client().zadd(SET, '0', name);
    expect(await new MarkerCompletion(client(), SET).complete('kim')).toEqual([...many].sort().slice(0, 10));
  });

  test('MarkerCompletion starts again after a write of another client, and answers no marker', async () => {
    const other = client();
    let written = false;
    const completion = new MarkerCompletion(client(), SET, async () => {
      if (!written) await other.zadd(SET, '0', 'anab{of-another-client');
      written = true;
    });
    expect(await completion.complete('ana')).toEqual(['ana', 'anabel', 'anabelle', 'anastasia']);
    expect(completion.retries).toBe(1);
  });

  test('concurrent calls of MarkerCompletion answer only names with the prefix, and leave no marker', async () => {
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => new MarkerCompletion(client(), SET).complete('anab')),
    );
    for (const answer of answers) {
      expect(['anabel', 'anabelle']).toEqual(expect.arrayContaining(answer));
    }
    expect(await client().zcard(SET)).toBe(NAMES.length);
  });
});

describe('the count of over-issues', () => {
  const believed = (from: number, to: number, name = 'pool') => ({ name, from, to });

  test('countOverIssued counts no grant within the limit', () => {
    const grants = [believed(0, 10), believed(5, 15), believed(10, 20), believed(15, 25)];
    expect(countOverIssued(grants, 2)).toBe(0);
  });

  test('countOverIssued counts each grant that is received while the limit is reached', () => {
    const grants = [
      believed(0, 100),
      believed(10, 20),
      believed(11, 20),
      believed(50, 60),
      believed(100, 110),
    ];
    expect(countOverIssued(grants, 1)).toBe(3);
    expect(countOverIssued(grants, 2)).toBe(1);
  });

  test('countOverIssued does not depend on the order of its input', () => {
    expect(countOverIssued([believed(10, 20), believed(0, 15)], 1)).toBe(1);
  });

  test('countOverIssued ignores a grant that had ended before its receipt', () => {
    expect(countOverIssued([believed(0, 100), believed(10, 5)], 1)).toBe(0);
    expect(countOverIssued([believed(10, 5), believed(0, 100)], 1)).toBe(0);
  });

  test('countOverIssued counts each name separately', () => {
    expect(countOverIssued([believed(0, 10, 'first'), believed(5, 15, 'second')], 1)).toBe(0);
  });
});
