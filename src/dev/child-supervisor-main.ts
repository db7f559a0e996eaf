/**
 * The supervisor process. It runs one child for a parent, and ends the child when the parent ends, even by SIGKILL.
 *
 * The supervisor watches its IPC channel. The kernel closes this channel when the parent ends, and keeps the channel
 * open while the parent is paused (SIGSTOP). The supervisor runs in its own session, so Ctrl-C in the terminal reaches
 * neither the supervisor nor the child. The parent may need the child during its drain.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { BoundedLog } from './bounded-log';
import { OutputTail } from './output-tail';
import type { FromSupervisor, SupervisorSetup, ToSupervisor } from './child-supervisor-protocol';

const LOG_LIMIT_BYTES = 1024 * 1024;
const LAST_OUTPUT_BYTES = 8 * 1024;
/** The time in which the output of an ended child is read. A process that the child has left may keep the pipe open. */
const LAST_OUTPUT_MS = 200;

let setup: SupervisorSetup | undefined;
let log: BoundedLog | undefined;
let lifeline: Socket | undefined;
let child: ChildProcess | undefined;
let ending = false;

function send(message: FromSupervisor): void {
  // The callback ignores the error of a parent that has just ended. The 'disconnect' event ends the child.
  if (process.connected) process.send?.(message, undefined, undefined, () => undefined);
}

function setUp(given: SupervisorSetup): void {
  setup = given;
  if (given.logFile !== undefined) log = new BoundedLog(given.logFile, LOG_LIMIT_BYTES);
  if (given.lifeline !== undefined) {
    lifeline = connect(given.lifeline);
    // A failed connection needs no handling, because 'close' follows 'error'.
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
  const tail = log && new OutputTail(LAST_OUTPUT_BYTES);
  for (const pipe of [started.stdout, started.stderr]) {
    pipe?.on('data', (chunk: Buffer) => {
      log?.write(chunk);
      tail?.add(chunk);
    });
  }
  const { pid } = started;
  if (pid !== undefined) send({ kind: 'started', pid });
  started.on('error', (error) => {
    if (pid !== undefined) return;
    child = undefined;
    send({ kind: 'failed', message: error.message });
    if (ending) leave();
  });
  started.on('exit', (code, signal) => {
    child = undefined;
    const report = (): void => {
      clearTimeout(timer);
      started.off('close', report);
      const lastOutput = tail && { lastOutput: tail.text };
      if (pid !== undefined) send({ kind: 'exited', pid, code, signal, ...lastOutput });
      if (ending) leave();
    };
    const timer = setTimeout(report, LAST_OUTPUT_MS);
    started.on('close', report);
  });
}

function end(): void {
  if (ending) return;
  ending = true;
  if (!child) return leave();
  const last = child;
  const graceMs = setup?.graceMs ?? 0;
  if (graceMs > 0) last.kill('SIGTERM');
  // A paused or hanging child does not react to SIGTERM.
  const timer = setTimeout(() => last.kill('SIGKILL'), graceMs);
  last.on('exit', () => clearTimeout(timer));
}

/** Closes everything that keeps this process running. */
function leave(): void {
  if (setup?.removeAtEnd !== undefined) rmSync(setup.removeAtEnd, { recursive: true, force: true });
  lifeline?.destroy();
  if (process.connected) process.disconnect();
}

process.on('message', (message: ToSupervisor) => {
  if (message.kind === 'setup') setUp(message);
  else if (message.kind === 'start') start();
  else end();
});
process.on('disconnect', end);
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, end);
