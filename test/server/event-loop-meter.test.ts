import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { EventLoopMeter } from '../../src/server/metrics/sources';
import { ManualClock } from '../support/manual-clock';
import { ROOT } from '../support/root';

const built = (path: string): string => JSON.stringify(join(ROOT, 'dist/src', path));
/** Runs a program in Node until its event loop has no work left. Fails after a minute. */
const run = (program: string): string =>
  execFileSync(process.execPath, ['-e', program], { encoding: 'utf8', timeout: 60_000 });

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

test('a meter keeps no process alive, even if nothing closes the meter', () => {
  const program = `
    const { EventLoopMeter } = require(${built('server/metrics/sources.js')});
    new EventLoopMeter().start();
    process.on('exit', () => console.log('over'));`;
  expect(run(program)).toBe('over\n');
});

test('the clock of a server keeps a process alive while a timer waits, and no longer', () => {
  const program = `
    const { systemClock } = require(${built('base/clock.js')});
    systemClock.after(3_600_000, () => undefined).cancel();
    systemClock.after(50, () => console.log('waited'));`;
  expect(run(program)).toBe('waited\n');
});
