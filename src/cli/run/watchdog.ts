/**
 * The watchdog of `holdfast lock run`, `semaphore run` and `elect`: a small process that starts the command, and ends the
 * command before the deadline of the lease. The watchdog has its own event loop and its own session, so the command ends
 * in time while `holdfast` is stopped (SIGSTOP), hangs, or was killed (SIGKILL).
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { ProcessGroup } from './process-group';
import { TOO_LATE, type FromWatchdog, type StartMessage, type ToWatchdog } from './protocol';
import { sharedNow } from './shared-clock';

/** How often the watchdog looks whether the processes of a command that must end are gone. */
const RECHECK_MS = 20;
/** The longest sleep: a timer does not count the time while the machine was suspended, the shared clock does. */
const LONGEST_SLEEP_MS = 1000;

class Watchdog {
  private readonly group: ProcessGroup;
  private deadline: number;
  /** Undefined: the command runs. True: the watchdog ends the command. False: the command has ended by itself. */
  private wasStopped: boolean | undefined;
  /** The time of the first SIGTERM. */
  private stoppedAt: number | undefined;
  private isLeft = false;
  private result: { code: number | null; signal: NodeJS.Signals | null } | undefined;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    child: ChildProcess,
    pid: number,
    private readonly start: StartMessage,
  ) {
    this.group = new ProcessGroup(pid);
    this.deadline = start.deadline;
    child.on('exit', (code, signal) => {
      this.result = { code, signal };
      this.wasStopped ??= false;
      // The release must not come before the end of all work, so processes that the command has left end now.
      if (this.stoppedAt === undefined && this.group.isAlive) this.terminate();
      this.check();
    });
    this.check();
  }

  moveDeadline(deadline: number): void {
    this.deadline = deadline;
    this.check();
  }

  signal(signal: NodeJS.Signals): void {
    this.group.signal(signal);
  }

  stop(): void {
    this.wasStopped ??= true;
    if (this.stoppedAt === undefined) this.terminate();
    this.check();
  }

  /** For a defect of this process: nobody would end the command later. */
  kill(): void {
    this.group.signal('SIGKILL');
  }

  private terminate(): void {
    this.stoppedAt = sharedNow();
    this.group.signal('SIGTERM');
    // A stopped process handles SIGTERM only after SIGCONT.
    this.group.signal('SIGCONT');
  }

  /** Does what is due, and sets the timer for the next step. */
  private check(): void {
    clearTimeout(this.timer);
    if (this.isLeft) return;
    if (this.result !== undefined && !this.group.isAlive) return this.leave(this.result);
    const now = sharedNow();
    const { graceMs, marginMs } = this.start;
    const latestKill = this.deadline - marginMs;
    if (this.stoppedAt === undefined && now >= latestKill - graceMs) return this.stop();
    const killAt = Math.min(latestKill, (this.stoppedAt ?? Infinity) + graceMs);
    if (now >= killAt) this.group.signal('SIGKILL');
    const next = this.stoppedAt === undefined ? latestKill - graceMs - now : RECHECK_MS;
    this.timer = setTimeout(() => this.check(), Math.max(1, Math.min(next, LONGEST_SLEEP_MS)));
  }

  private leave(result: { code: number | null; signal: NodeJS.Signals | null }): void {
    this.isLeft = true;
    const lateMs = Math.max(0, Math.round(sharedNow() - this.deadline));
    send({ kind: 'ended', ...result, wasStopped: this.wasStopped === true, lateMs }, disconnect);
  }
}

let watchdog: Watchdog | undefined;

function start(message: StartMessage): void {
  const { command, args, env, deadline, graceMs, marginMs } = message;
  // `holdfast` was stopped between the grant and this message.
  if (sharedNow() >= deadline - marginMs - graceMs) {
    return send({ kind: 'failed', code: TOO_LATE, message: 'the lease is about to end' }, disconnect);
  }
  let child: ChildProcess;
  try {
    // A process group of its own, in a session of its own: signals reach all processes of the command, and only them.
    child = spawn(command, [...args], { env, stdio: 'inherit', detached: true });
  } catch (error) {
    // Some errors are thrown, for example ENOEXEC of a script without "#!", and E2BIG.
    return notStarted(error as NodeJS.ErrnoException);
  }
  child.on('error', (error: NodeJS.ErrnoException) => {
    if (child.pid === undefined) notStarted(error);
  });
  if (child.pid === undefined) return;
  watchdog = new Watchdog(child, child.pid, message);
  send({ kind: 'started', group: child.pid });
}

function notStarted({ code = '', message }: NodeJS.ErrnoException): void {
  send({ kind: 'failed', code, message }, disconnect);
}

function send(message: FromWatchdog, then: () => void = () => undefined): void {
  // The error of a parent that has just ended is ignored: the 'disconnect' event ends the command.
  if (process.connected) process.send?.(message, undefined, undefined, then);
}

/** Ends the watchdog, because nothing is left that keeps its event loop busy. */
function disconnect(): void {
  if (process.connected) process.disconnect();
}

process.on('message', (message: ToWatchdog) => {
  if (message.kind === 'start') start(message);
  else if (message.kind === 'deadline') watchdog?.moveDeadline(message.deadline);
  else if (message.kind === 'signal') watchdog?.signal(message.signal);
  else watchdog?.stop();
});
// `holdfast` has ended, so nobody renews the lease.
process.on('disconnect', () => watchdog?.stop());
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const) {
  process.on(signal, () => watchdog?.stop());
}
process.on('uncaughtException', (error) => {
  watchdog?.kill();
  process.stderr.write(`holdfast: a defect of the watchdog: ${error.stack ?? error.message}\n`, () =>
    process.exit(70),
  );
});
send({ kind: 'ready' });
