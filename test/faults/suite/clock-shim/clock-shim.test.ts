import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { sayNotChecked } from '../../../support/not-checked';
import { Clocks } from './clocks';
import { clockShim } from './shim';

const PROGRAM = `process.stdin.on('data', () =>
  console.log(JSON.stringify({ wall: Date.now(), monotonic: Number(process.hrtime.bigint()) / 1e6 })));`;

interface Reading {
  readonly wall: number;
  readonly monotonic: number;
}

test('a step moves only the wall clock of one running process, not its monotonic clock or other processes', async () => {
  const shim = await clockShim();
  if ('missing' in shim) {
    sayNotChecked('steps of the wall clock', shim.missing);
    return;
  }
  const clocks = await Clocks.open(shim.path, 1);
  const child = spawn(process.execPath, ['-e', PROGRAM], { env: { ...process.env, ...clocks.store.env } });
  const lines = createInterface({ input: child.stdout });
  const read = async (): Promise<Reading & { here: number }> => {
    child.stdin.write('?\n');
    const [line] = (await once(lines, 'line')) as [string];
    return { ...(JSON.parse(line) as Reading), here: Date.now() };
  };
  try {
    const before = await read();
    for (const stepMs of [3_600_000, -7_200_000]) {
      clocks.store.step(stepMs);
      clocks.clients.step(1_000_000); // the clock of another process
      const after = await read();
      const off = after.wall - after.here;
      expect(Math.abs(off - clocks.store.offMs)).toBeLessThan(1000);
      expect(after.monotonic - before.monotonic).toBeLessThan(20_000);
      expect(after.monotonic).toBeGreaterThan(before.monotonic);
    }
  } finally {
    child.kill('SIGKILL');
    await clocks.close();
  }
});

test('a program other than Node reads the stepped clock', async () => {
  const shim = await clockShim();
  if ('missing' in shim) {
    sayNotChecked('steps of the wall clock', shim.missing);
    return;
  }
  const clocks = await Clocks.open(shim.path, 0);
  try {
    clocks.store.step(-86_400_500);
    const { stdout } = await promisify(execFile)('date', ['+%s.%N'], {
      env: { ...process.env, ...clocks.store.env },
    });
    expect(Math.abs(Number(stdout) * 1000 - (Date.now() - 86_400_500))).toBeLessThan(5000);
  } finally {
    await clocks.close();
  }
});
