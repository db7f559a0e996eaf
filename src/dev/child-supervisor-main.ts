/**
 * The supervisor's own process: runs one child for a parent, and ends it when the parent ends, however that ends.
 *
 * The channel to the parent is the witness: the kernel closes it when the parent is gone, by SIGKILL too, and
 * leaves it open while the parent is merely stopped. The supervisor leads a session of its own (it is started
 * detached), so a Ctrl-C in the terminal reaches neither it nor the child: the parent may need the child to drain.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { BoundedLog } from './bounded-log';
import type { FromSupervisor, SupervisorSetup, ToSupervisor } from './child-supervisor-protocol';

const LOG_LIMIT_BYTES = 1024 * 1024;

let setup: SupervisorSetup | undefined;
let log: BoundedLog | undefined;
let lifeline: Socket | undefined;
let child: ChildProcess | undefined;
let ending = false;

function tell(message: FromSupervisor): void {
  // The callback takes the error of a parent that has just gone: 'disconnect' deals with that.
  if (process.connected) process.send?.(message, undefined, undefined, () => undefined);
}

function prepare(given: SupervisorSetup): void {
  setup = given;
  if (given.logFile !== undefined) log = new BoundedLog(given.logFile, LOG_LIMIT_BYTES);
  if (given.lifeline !== undefined) {
    lifeline = connect(given.lifeline);
    // A line that cannot be had is a line that is closed: 'close' follows.
    lifeline.on('error', () => undefined);
    lifeline.on('close', end);
    lifeline.resume();
  }
}

function start(): void {
  if (!setup || child || ending) return;
  const output = log ? 'pipe' : 'inherit';
  const started = spawn(setup.command, [...setup.args], {
    env: setup.env,
    stdio: ['ignore', output, output],
    ...(setup.cwd === undefined ? {} : { cwd: setup.cwd }),
  });
  child = started;
  started.stdout?.on('data', (chunk: Buffer) => log?.write(chunk));
  started.stderr?.on('data', (chunk: Buffer) => log?.write(chunk));
  const { pid } = started;
  if (pid !== undefined) tell({ kind: 'started', pid });
  started.on('error', (error) => {
    if (pid !== undefined) return;
    child = undefined;
    tell({ kind: 'failed', message: error.message });
    if (ending) leave();
  });
  started.on('exit', (code, signal) => {
    child = undefined;
    if (pid !== undefined) tell({ kind: 'exited', pid, code, signal });
    if (ending) leave();
  });
}

function end(): void {
  if (ending) return;
  ending = true;
  if (!child) return leave();
  const last = child;
  const graceMs = setup?.graceMs ?? 0;
  if (graceMs > 0) last.kill('SIGTERM');
  // A stopped child takes no SIGTERM, and a hanging one none either.
  const timer = setTimeout(() => last.kill('SIGKILL'), graceMs);
  last.on('exit', () => clearTimeout(timer));
}

/** Lets go of everything that keeps this process running. */
function leave(): void {
  if (setup?.removeAtEnd !== undefined) rmSync(setup.removeAtEnd, { recursive: true, force: true });
  lifeline?.destroy();
  if (process.connected) process.disconnect();
}

process.on('message', (message: ToSupervisor) => {
  if (message.kind === 'setup') prepare(message);
  else if (message.kind === 'start') start();
  else end();
});
process.on('disconnect', end);
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, end);
