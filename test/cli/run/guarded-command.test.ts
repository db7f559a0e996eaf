import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { GuardedCommand } from '../../../src/cli/run/guarded-command';
import type { StartMessage } from '../../../src/cli/run/protocol';
import { sharedNow } from '../../../src/cli/run/processes';
import {
  allProcesses,
  isRunning,
  launcherOf,
  type ProcessState,
  watchdogOf,
} from '../../support/cli/cli-process';
import { eventually } from '../../support/eventually';
import { scratchFolder } from '../../support/scratch-folder';

const LONG_MS = 60_000;
/** Longer than the grace, the margin and the longest sleep of a guard. */
const SOON_MS = 3200;
/** A process that ignores SIGTERM. */
const STUBBORN = `sh -c 'trap "" TERM; exec sleep 60'`;
const STOP_AT_START = join(__dirname, '..', '..', 'support', 'cli', 'stop-at-start.cjs');
/** A mark in the arguments by which a test finds its processes. */
let mark: string;
let guarded: GuardedCommand;

beforeEach(async () => {
  mark = `mark-${process.pid}-${expect.getState().currentTestName?.length}-${performance.now()}`;
  guarded = GuardedCommand.create(process.env);
  await guarded.ready();
});

afterEach(async () => {
  guarded.close();
  await eventually('the end of the watchdog', () => watchdog() === undefined);
});

function watchdog(): ProcessState | undefined {
  return watchdogOf(process.pid);
}

/** Runs a shell with these words. The deadline is far away unless `limits` says otherwise. */
function run(script: string, limits: Partial<StartMessage> = {}): void {
  guarded.run({
    command: 'sh',
    args: ['-c', script, mark],
    env: process.env,
    deadline: sharedNow() + LONG_MS,
    graceMs: 500,
    // The largest margin, so that a busy machine ends a command in time too.
    marginMs: 2000,
    ...limits,
  });
}

/** The processes of the command that still run, without the launcher. */
function members(): number[] {
  const shell = allProcesses().find(({ command }) => command.endsWith(mark));
  return allProcesses()
    .filter(({ session, pid }) => session === shell?.session && isRunning(pid))
    .flatMap(({ pid, command }) => (command.endsWith('launcher.js') ? [] : [pid]));
}

function launcher(): ProcessState | undefined {
  return launcherOf(watchdog()?.pid ?? NaN);
}

function killHelper(helper: ProcessState | undefined, signal: NodeJS.Signals): void {
  process.kill(helper?.pid ?? NaN, signal);
}

async function untilRunning(count: number): Promise<number[]> {
  await eventually(`${count} processes of the command`, () => members().length === count);
  return members();
}

test('tells the exit code of the command', async () => {
  run('exit 7');
  expect(await guarded.ended()).toEqual({
    kind: 'ended',
    code: 7,
    signal: null,
    wasStopped: false,
    lateMs: 0,
  });
});

test('tells the signal that has ended the command', async () => {
  run('kill -KILL $$');
  expect(await guarded.ended()).toMatchObject({ code: null, signal: 'SIGKILL', wasStopped: false });
});

test('gives SIGTERM before the deadline, so that a command can end in order', async () => {
  run('trap "exit 3" TERM; sleep 60 & wait', { graceMs: 1000, marginMs: 250 });
  await untilRunning(2);
  const deadline = sharedNow() + 2000;
  guarded.moveDeadline(deadline);
  expect(await guarded.ended()).toMatchObject({ code: 3, wasStopped: true, lateMs: 0 });
  // SIGTERM comes 1.25 s before the deadline. 30 ms are the resolution of the clocks.
  expect(sharedNow()).toBeGreaterThan(deadline - 1250 - 30);
});

test('kills a command that ignores SIGTERM before the deadline', async () => {
  run('trap "" TERM; sleep 60 & while :; do wait; done');
  await untilRunning(2);
  const deadline = sharedNow() + SOON_MS;
  guarded.moveDeadline(deadline);
  expect(await guarded.ended()).toMatchObject({ signal: 'SIGKILL', wasStopped: true, lateMs: 0 });
  expect(sharedNow()).toBeLessThan(deadline);
  expect(members()).toEqual([]);
});

test('ends grandchildren that ignore SIGTERM before the deadline, after the command itself has ended', async () => {
  run(`${STUBBORN} & ${STUBBORN} & wait`);
  const pids = await untilRunning(3);
  const deadline = sharedNow() + SOON_MS;
  guarded.moveDeadline(deadline);
  expect(await guarded.ended()).toMatchObject({ signal: 'SIGTERM', wasStopped: true, lateMs: 0 });
  expect(pids.filter(isRunning)).toEqual([]);
});

test('lets a command run on when a renewal moves the deadline', async () => {
  // Without the renewal, SIGTERM comes after 2 s.
  run('sleep 2.5; exit 5', { deadline: sharedNow() + 4500, graceMs: 500 });
  guarded.moveDeadline(sharedNow() + LONG_MS);
  expect(await guarded.ended()).toMatchObject({ code: 5, wasStopped: false });
});

test('ends what a command leaves in the background, and keeps its exit code', async () => {
  run('sleep 60 & exit 4');
  expect(await guarded.ended()).toMatchObject({ code: 4, wasStopped: false });
  expect(members()).toEqual([]);
});

describe('a process that leaves the process group', () => {
  test.each([
    ['timeout as the command', { command: 'timeout', args: ['60', 'sleep', '60'] }],
    [
      'timeout as the command, which ignores SIGTERM',
      { command: 'timeout', args: ['60', 'sh', '-c', STUBBORN] },
    ],
    ['timeout in a script', { args: ['-c', `timeout 60 ${STUBBORN}; exit 0`] }],
    ['job control in a script', { command: 'bash', args: ['-c', `set -m; ${STUBBORN} & sleep 60 & wait`] }],
  ])('ends before the deadline: %s', async (_title, words) => {
    const { pid: session = NaN } = launcher() ?? {};
    run('', words);
    const others = () => allProcesses().filter((one) => one.session === session && one.group !== session);
    await eventually('another group', () => others().length >= 2);
    const pids = others().map(({ pid }) => pid);
    const deadline = sharedNow() + SOON_MS;
    guarded.moveDeadline(deadline);
    expect(await guarded.ended()).toMatchObject({ wasStopped: true, lateMs: 0 });
    expect(pids.filter(isRunning)).toEqual([]);
  });

  test('gets the signals for the command', async () => {
    run('', { command: 'timeout', args: ['60', 'sleep', '60'] });
    guarded.signal('SIGINT');
    // The exit code of timeout after a signal says nothing about the time.
    expect(await guarded.ended()).toMatchObject({ wasStopped: false });
  });

  test('ends after the command, before the end is told', async () => {
    run('timeout 60 sleep 60 & exit 4');
    expect(await guarded.ended()).toMatchObject({ code: 4, wasStopped: false });
    expect(members()).toEqual([]);
  });

  test('is killed when the watchdog is killed', async () => {
    const { pid: session = NaN } = launcher() ?? {};
    run('', { command: 'timeout', args: ['60', 'sh', '-c', STUBBORN] });
    const others = () => allProcesses().filter((one) => one.session === session && one.group !== session);
    await eventually('another group', () => others().length >= 2);
    const pids = others().map(({ pid }) => pid);
    killHelper(watchdog(), 'SIGKILL');
    await expect(guarded.ended()).rejects.toMatchObject({ exitCode: 76 });
    expect(pids.filter(isRunning)).toEqual([]);
  });
});

test('says that the end was late, when nobody could end the command before the deadline', async () => {
  run('sleep 60; exit 0');
  const pids = await untilRunning(2);
  killHelper(watchdog(), 'SIGSTOP');
  guarded.moveDeadline(sharedNow() - 100);
  await expect(guarded.ended()).rejects.toMatchObject({
    exitCode: 76,
    message: expect.stringMatching(
      /^the watchdog was killed or did not answer; the command was ended [1-9]\d\d+ ms after the deadline, so another/,
    ) as string,
  });
  expect(pids.filter(isRunning)).toEqual([]);
});

test('ends a stopped command after a loss', async () => {
  run('kill -STOP $$; sleep 60');
  await eventually('the stop', () =>
    allProcesses().some((one) => one.state === 'T' && one.command.endsWith(mark)),
  );
  guarded.stop();
  expect(await guarded.ended()).toMatchObject({ signal: 'SIGTERM', wasStopped: true });
});

test('passes a signal to the command that comes right after the start', async () => {
  // A shell may keep a SIGINT of its start for itself.
  run('', { command: 'sleep', args: ['60'] });
  guarded.signal('SIGINT');
  expect(await guarded.ended()).toMatchObject({ signal: 'SIGINT', wasStopped: false });
});

test('kills the command when the watchdog is killed', async () => {
  run('trap "" TERM; sleep 60 & while :; do wait; done');
  const pids = await untilRunning(2);
  killHelper(watchdog(), 'SIGKILL');
  await expect(guarded.ended()).rejects.toMatchObject({
    exitCode: 76,
    message: 'the watchdog was killed or did not answer; the command was ended before the deadline',
  });
  expect(pids.filter(isRunning)).toEqual([]);
});

test('kills the command before the deadline when the watchdog is stopped', async () => {
  run('trap "" TERM; sleep 60 & while :; do wait; done');
  const pids = await untilRunning(2);
  killHelper(watchdog(), 'SIGSTOP');
  const deadline = sharedNow() + SOON_MS;
  guarded.moveDeadline(deadline);
  await expect(guarded.ended()).rejects.toMatchObject({ exitCode: 76 });
  expect(sharedNow()).toBeLessThan(deadline);
  expect(pids.filter(isRunning)).toEqual([]);
});

test('kills what a killed launcher leaves, and tells the signal', async () => {
  run('trap "" TERM; sleep 60 & while :; do wait; done');
  const pids = await untilRunning(2);
  killHelper(launcher(), 'SIGKILL');
  expect(await guarded.ended()).toMatchObject({ code: null, signal: 'SIGKILL', lateMs: 0 });
  expect(pids.filter(isRunning)).toEqual([]);
});

test('does not start a command when the launcher was killed before', async () => {
  killHelper(launcher(), 'SIGKILL');
  await eventually('the end of the watchdog', () => watchdog() === undefined);
  run('sleep 60');
  // This process may hear of the end of the watchdog before or after `run`.
  await expect(guarded.ended()).rejects.toThrow(/^the watchdog (has ended before the start|was killed)/);
  expect(members()).toEqual([]);
});

describe('while nobody can tell of the start of the command', () => {
  let pids: number[];

  /** The process that starts the command stops itself right after the start. */
  async function runAndStop(): Promise<void> {
    guarded.close();
    await eventually('the end of the first watchdog', () => watchdog() === undefined);
    guarded = GuardedCommand.create({ ...process.env, NODE_OPTIONS: `--require ${STOP_AT_START}` });
    await guarded.ready();
    run('trap "" TERM; sleep 60 & while :; do wait; done');
    pids = await untilRunning(2);
  }

  afterEach(() => pids.filter(isRunning).forEach((pid) => process.kill(pid, 'SIGKILL')));

  test('kills the command when the watchdog is killed', async () => {
    await runAndStop();
    killHelper(watchdog(), 'SIGKILL');
    await expect(guarded.ended()).rejects.toMatchObject({ exitCode: 76 });
    expect(pids.filter(isRunning)).toEqual([]);
  });

  test('kills the command before the deadline when the watchdog is stopped', async () => {
    await runAndStop();
    const deadline = sharedNow() + SOON_MS;
    guarded.moveDeadline(deadline);
    killHelper(watchdog(), 'SIGSTOP');
    await expect(guarded.ended()).rejects.toMatchObject({ exitCode: 76 });
    expect(sharedNow()).toBeLessThan(deadline);
    expect(pids.filter(isRunning)).toEqual([]);
  });

  test('kills the command before the deadline when only the launcher is stopped', async () => {
    await runAndStop();
    const deadline = sharedNow() + SOON_MS;
    guarded.moveDeadline(deadline);
    await expect(guarded.ended()).resolves.toMatchObject({ wasStopped: true, lateMs: 0 });
    expect(sharedNow()).toBeLessThan(deadline);
    expect(pids.filter(isRunning)).toEqual([]);
  });
});

test('ends the command when the watchdog gets SIGTERM', async () => {
  run('sleep 60 & wait');
  await untilRunning(2);
  killHelper(watchdog(), 'SIGTERM');
  expect(await guarded.ended()).toMatchObject({ wasStopped: true, stopSignal: 'SIGTERM' });
});

test('lets the command run when the watchdog gets a signal that asks for no end', async () => {
  const fifo = join(scratchFolder(), 'fifo');
  run(`mkfifo ${fifo}; read line < ${fifo}; exit 6`);
  await eventually('the fifo', () => existsSync(fifo));
  for (const signal of ['SIGHUP', 'SIGUSR1', 'SIGUSR2', 'SIGWINCH'] as const) killHelper(watchdog(), signal);
  const { pid = NaN } = watchdog() ?? {};
  const pending = () => /^(?:SigPnd|ShdPnd):\s*0*[1-9a-f]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  await eventually('the signals', () => !pending());
  writeFileSync(fifo, 'line\n');
  expect(await guarded.ended()).toMatchObject({ code: 6, wasStopped: false });
});

test('starts no command whose lease is about to end', async () => {
  run('exit 0', { deadline: sharedNow() + 700, marginMs: 250 });
  await expect(guarded.ended()).rejects.toMatchObject({
    exitCode: 76,
    message: 'the command was not started: the lease is about to end',
  });
});

describe('a command that cannot be executed', () => {
  const file = (text: string, mode: number) => {
    const path = join(scratchFolder(), 'command');
    writeFileSync(path, text);
    chmodSync(path, mode);
    return path;
  };

  test.each([
    ['is not found with 127: an unknown name', () => 'no-such-command', 127],
    ['is not found with 127: an empty name', () => '', 127],
    ['is not executable with 126: a file without the right', () => file('#!/bin/sh\n', 0o644), 126],
    ['is not executable with 126: a folder', () => scratchFolder(), 126],
    ['is not executable with 126: a file below a file', () => join(file('', 0o755), 'command'), 126],
  ])('%s', async (_title, command, exitCode) => {
    run('', { command: command(), args: [] });
    await expect(guarded.ended()).rejects.toMatchObject({ exitCode });
  });

  // The system refuses an argument above 128 KiB.
  test('is not executable with 126: an argument that is too long', async () => {
    run('', { command: 'true', args: ['x'.repeat(1 << 18)] });
    await expect(guarded.ended()).rejects.toMatchObject({ exitCode: 126 });
  });
});
