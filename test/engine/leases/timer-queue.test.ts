import fc from 'fast-check';
import { TimerQueue } from '../../../src/engine/leases/timer-queue';
import { ManualClock } from '../../support/manual-clock';

const SLOT_MS = 10;

describe('Agenda', () => {
  it('runs each entry once, never early and at most a slot late, and those of earlier slots first', async () => {
    const time = fc.integer({ min: -50_000, max: 5_000_000 }).map((us) => us / 1000);
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 1e9 }).map((us) => us / 1000),
        fc.array(time),
        async (start, times) => {
          const clock = new ManualClock(start);
          const agenda = new TimerQueue(clock);
          const ran: { due: number; at: number }[] = [];
          for (const delay of times) {
            const due = start + delay;
            agenda.at(due, () => ran.push({ due, at: clock.now() }));
          }
          await clock.advance(6000);
          expect(ran).toHaveLength(times.length);
          for (const { due, at } of ran) {
            expect(at).toBeGreaterThanOrEqual(due - 1e-6);
            // What is due already runs in the next slot that comes.
            expect(at - Math.max(due, start)).toBeLessThanOrEqual(SLOT_MS + 1e-6);
          }
          const slots = ran.map(({ due }) => Math.ceil(due / SLOT_MS));
          expect([...slots].sort((a, b) => a - b)).toEqual(slots);
          expect([agenda.size, clock.timerCount]).toEqual([0, 0]);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('has one timer for any number of entries', () => {
    const clock = new ManualClock();
    const agenda = new TimerQueue(clock);
    for (let i = 0; i < 1000; i += 1) agenda.at(5000 - i, () => undefined);
    expect(agenda.size).toBe(1000);
    expect(clock.timerCount).toBe(1);
  });

  it('leaves neither entry nor timer behind when all were cancelled', () => {
    const clock = new ManualClock();
    const agenda = new TimerQueue(clock);
    const entries = [100, 100, 105, 2000].map((time) => agenda.at(time, () => undefined));
    for (const entry of entries) {
      entry.cancel();
      entry.cancel();
    }
    expect([agenda.size, clock.timerCount]).toEqual([0, 0]);
  });

  it('does not run what was cancelled, be it by another entry of the same moment', async () => {
    const clock = new ManualClock();
    const agenda = new TimerQueue(clock);
    const ran: string[] = [];
    const second = () => ran.push('second');
    agenda.at(100, () => {
      ran.push('first');
      entry.cancel();
    });
    const entry = agenda.at(100, second);
    const later = agenda.at(200, second);
    later.cancel();
    await clock.advance(1000);
    expect(ran).toEqual(['first']);
  });

  it('runs the same function as often as it was entered', async () => {
    const clock = new ManualClock();
    const agenda = new TimerQueue(clock);
    let count = 0;
    const run = () => void (count += 1);
    agenda.at(50, run);
    agenda.at(50, run);
    await clock.advance(100);
    expect(count).toBe(2);
  });

  it('takes entries from entries, sooner ones than those that wait', async () => {
    const clock = new ManualClock();
    const agenda = new TimerQueue(clock);
    const ran: [string, number][] = [];
    agenda.at(1000, () => ran.push(['late', clock.now()]));
    agenda.at(100, () => agenda.at(clock.now() + 50, () => ran.push(['soon', clock.now()])));
    await clock.advance(2000);
    expect(ran).toEqual([
      ['soon', 150],
      ['late', 1000],
    ]);
  });

  it('catches up in order after the process was stopped', async () => {
    const clock = new ManualClock();
    const agenda = new TimerQueue(clock);
    const ran: number[] = [];
    for (const time of [300, 100, 200, 9000]) agenda.at(time, () => ran.push(time));
    await clock.jump(5000);
    expect(ran).toEqual([100, 200, 300]);
    await clock.advance(5000);
    expect(ran).toEqual([100, 200, 300, 9000]);
  });
});
