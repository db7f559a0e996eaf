import { EventLoopMeter } from '../../src/metrics/event-loop-meter';
import { ManualClock } from '../support/manual-clock';

test('adds up the stalls of a second and longer, and shows every delay in the distribution', async () => {
  const clock = new ManualClock(5000);
  const meter = new EventLoopMeter(clock);
  meter.start();
  await clock.advance(1000);
  expect(meter.stalledMs).toBe(0);
  await clock.jump(1000);
  expect(meter.stalledMs).toBe(0);
  await clock.jump(1100);
  await clock.advance(500);
  await clock.jump(4100);
  expect(meter.stalledMs).toBe(5000);
  expect(meter.delayMs.sum).toBe(5900);
  meter.close();
  expect(clock.timerCount).toBe(0);
});
