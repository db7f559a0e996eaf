import { runLimits } from '../../../src/cli/run/under-lease';

test('gives a quarter of the ttl to the command, and a tenth to the end of its processes', () => {
  expect(runLimits(10_000)).toEqual({ graceMs: 2500, marginMs: 1000 });
});

test('bounds the margin to 250 ms to 2 s', () => {
  expect(runLimits(2000).marginMs).toBe(250);
  expect(runLimits(120_000).marginMs).toBe(2000);
});

test('takes a grace up to half of the ttl without the margin, so that a late renewal ends no command', () => {
  expect(runLimits(10_000, 4000)).toEqual({ graceMs: 4000, marginMs: 1000 });
  expect(() => runLimits(10_000, 4001)).toThrow(
    '--grace must be at most 4s with a ttl of 10s: use a longer --ttl',
  );
});

test('takes a grace of 0, which means SIGKILL at once', () => {
  expect(runLimits(10_000, 0).graceMs).toBe(0);
});

test('refuses a ttl that is too short for a busy machine', () => {
  expect(() => runLimits(1999)).toThrow('--ttl must be at least 2s to run a command');
});
