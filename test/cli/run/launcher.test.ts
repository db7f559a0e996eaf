import { spawn, type ChildProcess } from 'node:child_process';
import { constants } from 'node:os';
import { join } from 'node:path';
import type { FromLauncher, LaunchMessage } from '../../../src/cli/run/protocol';
import { sharedNow } from '../../../src/cli/run/processes';
import { allProcesses, isRunning, processState } from '../../support/cli/cli-process';
import { eventually } from '../../support/eventually';
import { ROOT } from '../../support/root';

const LONG_MS = 60_000;

let launcher: ChildProcess;
let messages: FromLauncher[];

beforeEach(async () => {
  messages = [];
  launcher = spawn(process.execPath, [join(ROOT, 'dist', 'src', 'cli', 'run', 'launcher.js')], {
    detached: true,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  launcher.on('message', (message: FromLauncher) => messages.push(message));
  await eventually('ready', () => messages.length === 1);
});

afterEach(async () => {
  launcher.kill('SIGCONT');
  if (launcher.connected) launcher.disconnect();
  await eventually('the end of the session', () => members().length === 0);
});

function members(): number[] {
  return allProcesses().flatMap((one) =>
    one.session === launcher.pid && isRunning(one.pid) ? [one.pid] : [],
  );
}

function launch(script: string, latestStart = sharedNow() + LONG_MS): void {
  const message: LaunchMessage = { command: 'bash', args: ['-c', script], env: process.env, latestStart };
  launcher.send(message);
}

test('starts no command when it was stopped until the latest start', async () => {
  launcher.kill('SIGSTOP');
  await eventually('the stop', () => processState(launcher.pid ?? NaN)?.state === 'T');
  const latestStart = sharedNow() + 100;
  launch('exit 0', latestStart);
  await eventually('the latest start', () => sharedNow() > latestStart);
  launcher.kill('SIGCONT');
  await eventually('an answer', () => messages.length > 1);
  expect(messages.slice(1)).toEqual([
    { kind: 'failed', code: 'TOO_LATE', message: 'the lease is about to end' },
  ]);
});

test('kills all processes of the session, also in other groups, when the watchdog has ended', async () => {
  launch('set -m; timeout 60 sleep 60 & sleep 60 & exec sleep 60');
  await eventually('all processes', () => members().length === 5);
  launcher.disconnect();
  await eventually('the end of the session', () => members().length === 0);
});

// A defect of the program itself has these. Nothing can catch KILL and STOP, and the others do not end a process.
const OTHERS = ['SEGV', 'BUS', 'FPE', 'ILL', 'KILL', 'STOP', 'CHLD', 'CONT', 'TSTP', 'TTIN', 'TTOU', 'URG'];

test('survives each signal that the command sends to its group with kill 0', async () => {
  const all = Object.keys(constants.signals).map((name) => name.slice('SIG'.length));
  const names = all.filter((name) => !OTHERS.includes(name) && !['IOT', 'POLL'].includes(name));
  expect(names).toEqual(expect.arrayContaining(['ALRM', 'PROF', 'TERM', 'XCPU']));
  const ignored = names.map((name) => `trap '' ${name}`).join('; ');
  launch(`${ignored}; for name in ${names.join(' ')}; do kill -$name 0; done; exit 7`);
  await eventually('the end', () => messages.some(({ kind }) => kind === 'exited'));
  expect(messages.at(-1)).toEqual({ kind: 'exited', code: 7, signal: null });
});
