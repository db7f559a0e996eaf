import fc from 'fast-check';
import { TimerQueue } from '../../../src/flow/timer-queue';
import { ManualClock } from '../../support/manual-clock';

const SLOT_MS = 10;

describe('TimerQueue', () => {
  it('runs each entry once, never early, at most one slot late, and in the order of slots', async () => {
    const time = fc.integer({ min: -50_000, max: 5_000_000 }).map((us) => us / 1000);
    await fc.assert(
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
      { numRuns: 60 },
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
