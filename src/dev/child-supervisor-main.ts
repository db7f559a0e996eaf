import { type ChildProcess, spawn } from 'node:child_process';
import {
  closeSync,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { connect, type Socket } from 'node:net';
import { dirname } from 'node:path';
import type { FromSupervisor, SupervisorSetup, ToSupervisor } from './child-supervisor';

/** The output that stays in memory while the file cannot be written. */
const PENDING_LIMIT_BYTES = 64 * 1024;

/**
 * A log file that takes at most twice `limitBytes` on disk. A full file replaces `<file>.1`. Writes are synchronous, so
 * the last lines of a crashing process are kept. While the file cannot be written, the last 64 KiB stay in memory until
 * a later write succeeds. A line in the file tells how many bytes were lost before them.
 */
export class BoundedLog {
  /** Undefined: the file is not open. */
  private descriptor: number | undefined;
  private size = 0;
  private pending: Buffer = Buffer.alloc(0);
  private lostBytes = 0;

  /** Never throws. A file that cannot be opened is opened by a later write. */
  constructor(
    private readonly file: string,
    private readonly limitBytes: number,
  ) {
    try {
      mkdirSync(dirname(file), { recursive: true });
      this.descriptor = this.open();
    } catch {
      // The next write tries again.
    }
  }

  /** Never throws, because a full disk or a removed folder must not end the process that writes the log. */
  write(chunk: Uint8Array): void {
    this.pending = Buffer.concat([this.pending, chunk]);
    try {
      this.writePending();
    } catch {
      const excess = Math.max(0, this.pending.length - PENDING_LIMIT_BYTES);
      this.pending = Buffer.from(this.pending.subarray(excess));
      this.lostBytes += excess;
    }
  }

  private writePending(): void {
    if (this.lostBytes > 0) {
      const note = `[${this.lostBytes} bytes are missing here, because this file could not be written]\n`;
      for (let rest: Buffer = Buffer.from(note); rest.length > 0;) rest = this.append(rest);
      this.lostBytes = 0;
    }
    while (this.pending.length > 0) this.pending = this.append(this.pending);
  }

  /** Returns the bytes that were not written, because a disk that is nearly full takes only a part. */
  private append(bytes: Buffer): Buffer {
    this.descriptor ??= this.open();
    if (this.size > 0 && this.size + bytes.length > this.limitBytes)
      this.descriptor = this.rotate(this.descriptor);
    const written = writeSync(this.descriptor, bytes);
    this.size += written;
    return bytes.subarray(written);
  }

  private open(): number {
    const descriptor = openSync(this.file, 'a', 0o600);
    this.size = fstatSync(descriptor).size;
    return descriptor;
  }

  private rotate(descriptor: number): number {
    // The number of a closed descriptor may soon belong to another file, so the field is cleared first.
    this.descriptor = undefined;
    closeSync(descriptor);
    if (existsSync(this.file)) renameSync(this.file, `${this.file}.1`);
    return this.open();
  }
}

/** The last bytes of a child's output, kept in memory. */
class OutputTail {
  private kept: Buffer = Buffer.alloc(0);

  constructor(private readonly limitBytes: number) {}

  add(chunk: Uint8Array): void {
    const all = Buffer.concat([this.kept, chunk]);
    this.kept = Buffer.from(all.subarray(Math.max(0, all.length - this.limitBytes)));
  }

  get text(): string {
    return this.kept.toString();
  }
}

/**
 * The supervisor process. It runs one child for a parent, and ends the child when the parent ends, even by SIGKILL.
 *
 * The supervisor watches its IPC channel. The kernel closes this channel when the parent ends, and keeps the channel
 * open while the parent is paused (SIGSTOP). The supervisor runs in its own session, so Ctrl-C in the terminal reaches
 * neither the supervisor nor the child. The parent may need the child during its drain.
 */

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
