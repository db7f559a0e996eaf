import { SuspendAwareClock } from '../../../clients/typescript/clock';

function clocks() {
  const times = { monotonic: 1000, sinceBoot: 500_000 };
  const clock = new SuspendAwareClock(
    () => times.monotonic,
    () => times.sinceBoot,
  );
  return { times, clock };
}

describe('the clock of the client', () => {
  test('is the monotonic clock while the machine runs', () => {
    const { times, clock } = clocks();
    times.monotonic += 5000;
    times.sinceBoot += 5000;
    expect(clock.now()).toBe(6000);
  });

  test('counts the time of a suspend once', () => {
    const { times, clock } = clocks();
    times.monotonic += 20;
    times.sinceBoot += 60_020;
    expect(clock.now()).toBe(61_020);
    times.monotonic += 100;
    times.sinceBoot += 100;
    expect(clock.now()).toBe(61_120);
  });

  test('counts a suspend that ended just now for a caller that wants to rely on a lease', () => {
    const { times, clock } = clocks();
    times.monotonic += 20;
    times.sinceBoot += 20;
    clock.now();
    times.monotonic += 1;
    times.sinceBoot += 60_001;
    expect(clock.exactNow()).toBe(61_021);
    expect(clock.now()).toBe(61_021);
  });

  test('counts several suspends', () => {
    const { times, clock } = clocks();
    for (let round = 0; round < 3; round++) {
      times.monotonic += 1000;
      times.sinceBoot += 11_000;
      clock.now();
    }
    expect(clock.now()).toBe(1000 + 33_000);
  });

  test('never goes back, and takes the resolution of the uptime for no suspend', () => {
    const { times, clock } = clocks();
    let before = clock.now();
    for (let step = 0; step < 100; step++) {
      times.monotonic += 15;
      times.sinceBoot += step % 2 === 0 ? 50 : -20;
      const now = clock.now();
      expect(now).toBeGreaterThanOrEqual(before);
      before = now;
    }
    expect(before).toBe(times.monotonic);
  });

  test('is the monotonic clock where the platform has no clock that counts a suspend', () => {
    expect(new SuspendAwareClock(() => 7, undefined).now()).toBe(7);
  });
});
