import fc from 'fast-check';
import { FairQueue } from '../../src/flow/fair-queue';
import { EarliestRun, TimerQueue } from '../../src/flow/timer-queue';
import { NameTurns } from '../../src/flow/waiting';
import { ManualClock } from '../support/manual-clock';
import { assertWithinTime } from '../support/timed-property';

describe('a fair queue', () => {
  const CALLERS = ['alice', 'bob', 'carol', undefined] as const;
  type Caller = (typeof CALLERS)[number];

  function filled(items: readonly Caller[]): FairQueue<{ caller: Caller; at: number }> {
    const queue = new FairQueue<{ caller: Caller; at: number }>();
    for (const [at, caller] of items.entries()) queue.push(caller, { caller, at });
    return queue;
  }

  /** The callers of the next items. */
  function serve(queue: FairQueue<string>, count: number): (string | undefined)[] {
    return Array.from({ length: count }, () => queue.shift());
  }

  it('serves one item of each caller in each round', () => {
    const queue = filled([...Array<Caller>(1000).fill('alice'), ...Array<Caller>(1000).fill('bob'), 'carol']);
    const served = Array.from({ length: 100 }, () => queue.shift()?.caller);
    expect(served).toContain('carol');
    const ofAlice = served.filter((caller) => caller === 'alice').length;
    expect(Math.abs(ofAlice - (99 - ofAlice))).toBeLessThanOrEqual(2);
  });

  it('serves a new caller within two items while a hundred served callers wait', () => {
    const queue = new FairQueue<string>();
    const callers = Array.from({ length: 100 }, (_, at) => `busy ${at}`);
    for (const caller of callers) for (let item = 0; item < 5; item += 1) queue.push(caller, caller);
    serve(queue, 200);
    queue.push('new', 'new');
    expect(serve(queue, 2)).toContain('new');
  });

  it('gives a caller with many items no more than each of a hundred callers that come back after each item', () => {
    const queue = new FairQueue<string>();
    for (let item = 0; item < 5000; item += 1) queue.push('busy', 'busy');
    for (let at = 0; at < 100; at += 1) queue.push(`light ${at}`, `light ${at}`);
    const counts = new Map<string, number>();
    for (let served = 0; served < 2000; served += 1) {
      const caller = queue.shift()!;
      counts.set(caller, (counts.get(caller) ?? 0) + 1);
      if (caller !== 'busy') queue.push(caller, caller);
    }
    expect(Math.max(...counts.values())).toBeLessThanOrEqual(25);
    expect(Math.min(...counts.values())).toBeGreaterThan(15);
  });

  it('serves the callers of a round at least every second time, while new callers come without end', () => {
    const queue = new FairQueue<string>();
    for (let item = 0; item < 100; item += 1) queue.push('busy', 'busy');
    const served = Array.from({ length: 100 }, (_, at) => {
      queue.push(`new ${at}`, 'new');
      return queue.shift();
    });
    expect(served.filter((caller) => caller === 'busy').length).toBeGreaterThanOrEqual(50);
  });

  it('keeps the order of one caller, loses no item, and is then empty', () => {
    assertWithinTime(
      fc.property(fc.array(fc.constantFrom(...CALLERS), { maxLength: 400 }), (items) => {
        const queue = filled(items);
        const served = items.map(() => queue.shift()!);
        expect(served.map(({ at }) => at).sort((a, b) => a - b)).toEqual(items.map((_, at) => at));
        for (const caller of CALLERS) {
          const own = served.filter((item) => item.caller === caller).map(({ at }) => at);
          expect(own).toEqual([...own].sort((a, b) => a - b));
        }
        expect(queue.size).toBe(0);
        expect(queue.shift()).toBeUndefined();
      }),
    );
  });

  it('never serves more items before a new item than `ahead` has announced', () => {
    assertWithinTime(
      fc.property(
        fc.array(fc.constantFrom(...CALLERS), { maxLength: 100 }),
        fc.nat(20),
        fc.constantFrom(...CALLERS),
        (items, taken, caller) => {
          const queue = filled(items);
          for (let count = 0; count < taken; count += 1) queue.shift();
          const ahead = queue.ahead(caller);
          queue.push(caller, { caller, at: -1 });
          let passed = 0;
          while (queue.shift()?.at !== -1) passed += 1;
          expect(passed).toBeLessThanOrEqual(ahead);
        },
      ),
    );
  });
});

const SLOT_MS = 10;

describe('TimerQueue', () => {
  it('runs each entry once, never early, at most one slot late, and in the order of slots', async () => {
    const time = fc.integer({ min: -50_000, max: 5_000_000 }).map((us) => us / 1000);
    await assertWithinTime(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 1e9 }).map((us) => us / 1000),
        fc.array(time),
        async (start, times) => {
          const clock = new ManualClock(start);
          const timers = new TimerQueue(clock);
          const ran: { due: number; at: number }[] = [];
          for (const delay of times) {
            const due = start + delay;
            timers.at(due, () => ran.push({ due, at: clock.now() }));
          }
          await clock.advance(6000);
          expect(ran).toHaveLength(times.length);
          for (const { due, at } of ran) {
            expect(at).toBeGreaterThanOrEqual(due - 1e-6);
            // An entry with a time in the past runs in the next slot.
            expect(at - Math.max(due, start)).toBeLessThanOrEqual(SLOT_MS + 1e-6);
          }
          const slots = ran.map(({ due }) => Math.ceil(due / SLOT_MS));
          expect([...slots].sort((a, b) => a - b)).toEqual(slots);
          expect([timers.size, clock.timerCount]).toEqual([0, 0]);
        },
      ),
    );
  });

  it('uses a single timer for 1,000 entries', () => {
    const clock = new ManualClock();
    const timers = new TimerQueue(clock);
    for (let i = 0; i < 1000; i += 1) timers.at(5000 - i, () => undefined);
    expect(timers.size).toBe(1000);
    expect(clock.timerCount).toBe(1);
  });

  it('lets other work run in between if thousands of entries are due together, and runs all entries in order', async () => {
    const clock = new ManualClock();
    const timers = new TimerQueue(clock);
    const ran: string[] = [];
    const work = (name: string) => () => {
      ran.push(name);
      clock.pass(0.5);
    };
    for (let at = 0; at < 10; at += 1) timers.at(100, work(`entry ${at}`));
    timers.at(110, work('later'));
    clock.after(100.5, () => ran.push('other work'));
    await clock.advance(99);
    const last = timers.at(111, work('cancelled'));
    await clock.advance(1.5);
    last.cancel();
    await clock.advance(100);
    expect(ran.indexOf('other work')).toBeLessThan(6);
    const entries = ran.filter((name) => name !== 'other work');
    expect(entries).toEqual([...Array.from({ length: 10 }, (_, at) => `entry ${at}`), 'later']);
    expect([timers.size, clock.timerCount]).toEqual([0, 0]);
  });

  it('has no entry and no timer after all entries were cancelled', () => {
    const clock = new ManualClock();
    const timers = new TimerQueue(clock);
    const entries = [100, 100, 105, 2000].map((time) => timers.at(time, () => undefined));
    for (const entry of entries) {
      entry.cancel();
      entry.cancel();
    }
    expect([timers.size, clock.timerCount]).toEqual([0, 0]);
  });

  it('does not run cancelled entries, even if an entry of the same slot cancels them', async () => {
    const clock = new ManualClock();
    const timers = new TimerQueue(clock);
    const ran: string[] = [];
    const second = () => ran.push('second');
    timers.at(100, () => {
      ran.push('first');
      entry.cancel();
    });
    const entry = timers.at(100, second);
    const later = timers.at(200, second);
    later.cancel();
    await clock.advance(1000);
    expect(ran).toEqual(['first']);
  });

  it('runs a function twice if the function was added twice', async () => {
    const clock = new ManualClock();
    const timers = new TimerQueue(clock);
    let count = 0;
    const run = () => void (count += 1);
    timers.at(50, run);
    timers.at(50, run);
    await clock.advance(100);
    expect(count).toBe(2);
  });

  it('accepts new entries from a running entry, even entries before all other entries', async () => {
    const clock = new ManualClock();
    const timers = new TimerQueue(clock);
    const ran: [string, number][] = [];
    timers.at(1000, () => ran.push(['late', clock.now()]));
    timers.at(100, () => timers.at(clock.now() + 50, () => ran.push(['soon', clock.now()])));
    await clock.advance(2000);
    expect(ran).toEqual([
      ['soon', 150],
      ['late', 1000],
    ]);
  });

  it('runs all due entries in order after the process was suspended', async () => {
    const clock = new ManualClock();
    const timers = new TimerQueue(clock);
    const ran: number[] = [];
    for (const time of [300, 100, 200, 9000]) timers.at(time, () => ran.push(time));
    await clock.jump(5000);
    expect(ran).toEqual([100, 200, 300]);
    await clock.advance(5000);
    expect(ran).toEqual([100, 200, 300, 9000]);
  });
});

describe('EarliestRun', () => {
  test('runs once at the earliest of the times that were asked for, and again only when asked again', async () => {
    const clock = new ManualClock(0);
    const timers = new TimerQueue(clock);
    const ranAt: number[] = [];
    const run = new EarliestRun(timers, () => ranAt.push(clock.now()));
    for (const time of [300, 100, 200]) run.by(time);
    expect([run.isPlannedBy(99), run.isPlannedBy(100), timers.size]).toEqual([false, true, 1]);
    await clock.advance(500);
    expect([ranAt, run.isPlannedBy(1e9), timers.size]).toEqual([[100], false, 0]);
    run.by(900);
    run.cancel();
    expect([run.isPlannedBy(1e9), timers.size, clock.timerCount]).toEqual([false, 0, 0]);
    run.by(700);
    await clock.advance(500);
    expect(ranAt).toEqual([100, 700]);
  });

  test('may be asked again by its own work', async () => {
    const clock = new ManualClock(0);
    let count = 0;
    const run: EarliestRun = new EarliestRun(new TimerQueue(clock), () => {
      count += 1;
      if (count < 3) run.by(clock.now() + 100);
    });
    run.by(100);
    await clock.advance(1000);
    expect([count, clock.timerCount]).toEqual([3, 0]);
  });
});

describe('the turns of commands on one name', () => {
  test('a command begins after the answer to the command before, and not earlier', () => {
    const turns = new NameTurns();
    const begun: number[] = [];
    const answers: (() => void)[] = [];
    for (const id of [1, 2, 3]) {
      turns.run('report', (answered) => {
        begun.push(id);
        answers.push(answered);
      });
    }
    expect(begun).toEqual([1]);
    answers[0]?.();
    answers[0]?.();
    expect(begun).toEqual([1, 2]);
    answers[1]?.();
    expect(begun).toEqual([1, 2, 3]);
  });

  test('a command on another name does not wait', () => {
    const turns = new NameTurns();
    const begun: string[] = [];
    turns.run('report', () => begun.push('report'));
    turns.run('other', () => begun.push('other'));
    expect(begun).toEqual(['report', 'other']);
  });

  test('100,000 commands that are answered together do not overflow the stack', () => {
    const turns = new NameTurns();
    let answerFirst = (): void => undefined;
    let begunCount = 0;
    turns.run('report', (answered) => (answerFirst = answered));
    for (let id = 0; id < 100_000; id += 1) {
      turns.run('report', (answered) => {
        begunCount += 1;
        answered();
      });
    }
    answerFirst();
    expect(begunCount).toBe(100_000);
    // The name is free again.
    turns.run('report', () => (begunCount += 1));
    expect(begunCount).toBe(100_001);
  });
});
