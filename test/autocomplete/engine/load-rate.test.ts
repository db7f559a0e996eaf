import { LoadRate } from '../../../src/flow/lanes';
import { ManualClock } from '../../support/manual-clock';

test('lets 101 loads begin together, and then one load every 5 ms', async () => {
  const clock = new ManualClock(10_000);
  const rate = new LoadRate(clock);
  let begun = 0;
  for (let n = 0; n < 150; n += 1) void rate.pass().then(() => (begun += 1));
  await clock.advance(0);
  expect(begun).toBe(101);
  await clock.advance(5);
  expect(begun).toBe(102);
  await clock.advance(100);
  expect(begun).toBe(122);
  await clock.advance(10_000);
  expect(begun).toBe(150);
});
