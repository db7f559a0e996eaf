import fc from 'fast-check';
import { ServerClock } from '../../src/redis/node/server-clock';

/** The time of Redis's clock when the local time is 0. */
const EPOCH_MS = 1_700_000_000_000;

/** A simulated Redis with a clock that the test sets, over a slow connection. */
class Line {
  now = 1000;
  /** The milliseconds by which Redis's clock was set, and its rate relative to the local clock. */
  offset = 0;
  rate = 1;
  readonly clock = new ServerClock();

  get redis(): number {
    return EPOCH_MS + this.now * this.rate + this.offset;
  }

  /** Reads Redis's clock. The request takes `there` and the reply takes `back`, in milliseconds. */
  read(there: number, back: number): number {
    const sentAt = this.now;
    this.now += there;
    const time = this.redis;
    this.now += back;
    return this.clock.take({ time, sentAt, receivedAt: this.now });
  }
}

const delay = fc.oneof(fc.constant(0.2), fc.double({ min: 0.05, max: 3000, noNaN: true }));
const reading = fc.record({
  there: delay,
  back: delay,
  pause: fc.double({ min: 0, max: 2000, noNaN: true }),
});
/** The rate of Redis's clock relative to the local clock. */
const rate = fc.double({ min: 1 - 0.0005, max: 1 + 0.0005, noNaN: true });

describe('ServerClock', () => {
  it('reports no step for delays of any length and for drift', () => {
    fc.assert(
      fc.property(fc.array(reading, { minLength: 1, maxLength: 40 }), rate, (readings, fast) => {
        const line = new Line();
        line.rate = fast;
        for (const { there, back, pause } of readings) {
          expect(line.read(there, back)).toBe(0);
          line.now += pause;
        }
      }),
    );
  });

  it('is never ahead of Redis by more than the drift', () => {
    fc.assert(
      fc.property(fc.array(reading, { minLength: 1, maxLength: 20 }), rate, (readings, fast) => {
        const line = new Line();
        line.rate = fast;
        for (const { there, back, pause } of readings) {
          line.read(there, back);
          line.now += pause;
          expect(line.clock.timeAt(line.now)).toBeLessThanOrEqual(line.redis + pause * 0.001 + 3);
        }
      }),
    );
  });

  it('is as exact as its most exact reading', () => {
    const line = new Line();
    line.read(900, 900);
    line.read(0.1, 0.1);
    line.read(500, 1500);
    expect(line.redis - line.clock.timeAt(line.now)).toBeLessThan(5);
  });

  it('reports each step of the clock once, forward or back, with any delays', () => {
    const far = fc.integer({ min: 200, max: 10_000_000 });
    const quick = fc.double({ min: 0.05, max: 20, noNaN: true });
    fc.assert(
      fc.property(
        far,
        fc.boolean(),
        fc.tuple(quick, quick, quick, quick),
        (distance, forward, [a, b, c, d]) => {
          const line = new Line();
          line.read(a, b);
          line.now += 1000;
          line.offset += forward ? distance : -distance;
          const told = line.read(c, d);
          expect(Math.sign(told)).toBe(forward ? 1 : -1);
          expect(Math.abs(Math.abs(told) - distance)).toBeLessThan(50);
          line.now += 1000;
          expect(line.read(a, d)).toBe(0);
        },
      ),
    );
  });

  it('reports no single small step, but the sum of many small steps in a short time', () => {
    const line = new Line();
    line.read(0.1, 0.1);
    const told: number[] = [];
    for (let second = 0; second < 10; second += 1) {
      line.now += 1000;
      line.offset += 30;
      told.push(line.read(0.1, 0.1));
    }
    expect(told.slice(0, 3)).toEqual([0, 0, 0]);
    // The report is the sum of all steps so far.
    expect(told.find((step) => step > 0)).toBeGreaterThan(100);
    const patient = new Line();
    patient.read(0.1, 0.1);
    for (let hour = 0; hour < 10; hour += 1) {
      patient.now += 3_600_000;
      patient.offset += 90;
      expect(patient.read(0.1, 0.1)).toBe(0);
    }
  });

  it('has no time before its first reading, and none after it forgets its readings', () => {
    const clock = new ServerClock();
    expect(clock.timeAt(5)).toBe(-Infinity);
    clock.take({ time: EPOCH_MS, sentAt: 1, receivedAt: 2 });
    clock.forget();
    expect(clock.timeAt(5)).toBe(-Infinity);
    expect(clock.take({ time: EPOCH_MS * 2, sentAt: 3, receivedAt: 4 })).toBe(0);
  });
});
