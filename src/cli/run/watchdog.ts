import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { lateMs, LONGEST_SLEEP_MS, ProcessSession, RECHECK_MS, sharedNow } from './processes';
import {
  type CommandEnd,
  type FromLauncher,
  type FromWatchdog,
  type LaunchMessage,
  type NotStarted,
  type StartMessage,
  TOO_LATE_FAILURE,
  type ToWatchdog,
} from './protocol';

/** How a launcher has ended that could not tell the end of the command. */
const KILLED: CommandEnd = { kind: 'exited', code: null, signal: 'SIGKILL' };

/** The session of the command, in the watchdog. The session exists before the command, because of the launcher. */
class CommandSession {
  private readonly session: ProcessSession;
  /** Signals for a command that has not started yet. Undefined: the command has started. */
  private waiting: NodeJS.Signals[] | undefined = [];
  private end: CommandEnd | NotStarted | undefined;

  private constructor(
    private readonly launcher: ChildProcess,
    id: number,
    onReady: (id: number) => void,
    onEnd: (end: CommandEnd | NotStarted) => void,
  ) {
    this.session = new ProcessSession(id);
    launcher.on('message', (message: FromLauncher) => {
      if (message.kind === 'ready') onReady(id);
      else if (message.kind === 'started') this.sendWaiting();
      else this.end = message;
    });
    const isGone = new Promise<void>((resolve) => launcher.on('exit', () => resolve()));
    // The event comes after the last message.
    const isRead = new Promise<void>((resolve) => launcher.on('disconnect', resolve));
    // The launcher is a process of the session, so the session can be empty only after the launcher is gone.
    void Promise.all([isGone, isRead]).then(() => onEnd(this.end ?? KILLED));
  }

  /**
   * Starts the launcher, before there is a command. `onReady` is called when a command can start at once, and `onEnd` when
   * the command has ended or cannot start. Processes that the command has left may still be in the session.
   */
  static create(
    onReady: (id: number) => void,
    onEnd: (end: CommandEnd | NotStarted) => void,
  ): CommandSession | undefined {
    // A session of its own: signals reach all processes of the command, and only them.
    const launcher = spawn(process.execPath, [join(__dirname, 'launcher.js')], {
      detached: true,
      stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    });
    launcher.on('error', (error: NodeJS.ErrnoException) => {
      if (launcher.pid === undefined)
        onEnd({ kind: 'failed', code: error.code ?? '', message: error.message });
    });
    return launcher.pid === undefined
      ? undefined
      : new CommandSession(launcher, launcher.pid, onReady, onEnd);
  }

  launch({ command, args, env, latestStart }: LaunchMessage): void {
    // The error of a launcher that was killed is ignored: its 'disconnect' event is handled.
    if (this.launcher.connected) this.launcher.send({ command, args, env, latestStart }, () => undefined);
  }

  get isAlive(): boolean {
    return this.session.isAlive;
  }

  /** Signals the command. A signal that comes before the start of the command waits for the start. */
  signal(signal: NodeJS.Signals): void {
    if (this.waiting === undefined) this.session.signal(signal);
    else this.waiting.push(signal);
  }

  terminate(): void {
    this.signal('SIGTERM');
    // A stopped process handles SIGTERM only after SIGCONT. The launcher may be stopped before the start of the command.
    this.session.signal('SIGCONT');
  }

  kill(): void {
    this.session.signal('SIGKILL');
  }

  private sendWaiting(): void {
    const signals = this.waiting ?? [];
    this.waiting = undefined;
    for (const signal of signals) this.session.signal(signal);
  }
}

/**
 * The watchdog of `holdfast lock run`, `semaphore run` and `elect`: a small process that has the command started, and ends
 * the command before the deadline of the lease. The watchdog has its own event loop and its own session, so the command ends
 * in time while `holdfast` is stopped (SIGSTOP), hangs, or was killed (SIGKILL).
 */

class Watchdog {
  private deadline: number;
  /** Undefined: the command runs. True: the watchdog ends the command. False: the command has ended by itself. */
  private wasStopped: boolean | undefined;
  /** The time of the first SIGTERM. */
  private stoppedAt: number | undefined;
  private stopSignal: NodeJS.Signals | undefined;
  private isLeft = false;
  private result: CommandEnd | undefined;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly session: CommandSession,
    private readonly start: StartMessage,
  ) {
    this.deadline = start.deadline;
    this.check();
    if (this.stoppedAt === undefined) session.launch({ ...start, latestStart: latestStart(start) });
  }

  onEnd(end: CommandEnd | NotStarted): void {
    if (end.kind === 'failed') return this.leave(end);
    this.result = end;
    this.wasStopped ??= false;
    // The release must not come before the end of all work, so processes that the command has left end now.
    if (this.stoppedAt === undefined && this.session.isAlive) this.terminate();
    this.check();
  }

  moveDeadline(deadline: number): void {
    this.deadline = deadline;
    this.check();
  }

  signal(signal: NodeJS.Signals): void {
    this.session.signal(signal);
  }

  /** @param signal the signal to the watchdog that is the reason. */
  stop(signal?: NodeJS.Signals): void {
    this.wasStopped ??= true;
    if (this.stoppedAt === undefined) {
      this.stopSignal = signal;
      this.terminate();
    }
    this.check();
  }

  private terminate(): void {
    this.stoppedAt = sharedNow();
    this.session.terminate();
  }

  /** Does what is due, and sets the timer for the next step. */
  private check(): void {
    clearTimeout(this.timer);
    if (this.isLeft) return;
    if (this.result !== undefined && !this.session.isAlive) return this.leave(this.result);
    const now = sharedNow();
    const { graceMs, marginMs } = this.start;
    const latestKill = this.deadline - marginMs;
    if (this.stoppedAt === undefined && now >= latestKill - graceMs) return this.stop();
    const killAt = Math.min(latestKill, (this.stoppedAt ?? Infinity) + graceMs);
    if (now >= killAt) this.session.kill();
    const next = this.stoppedAt === undefined ? latestKill - graceMs - now : RECHECK_MS;
    this.timer = setTimeout(() => this.check(), Math.max(1, Math.min(next, LONGEST_SLEEP_MS)));
  }

  private leave(end: CommandEnd | NotStarted): void {
    this.isLeft = true;
    clearTimeout(this.timer);
    if (end.kind === 'failed') return notStarted(end);
    const { code, signal } = end;
    const wasStopped = this.wasStopped === true;
    const reason = wasStopped && this.stopSignal ? { stopSignal: this.stopSignal } : {};
    send({ kind: 'ended', code, signal, wasStopped, ...reason, lateMs: lateMs(this.deadline) }, disconnect);
  }
}

function latestStart({ deadline, graceMs, marginMs }: StartMessage): number {
  return deadline - marginMs - graceMs;
}

let watchdog: Watchdog | undefined;
const session = CommandSession.create(
  (id) => send({ kind: 'ready', session: id }),
  (end) => {
    if (watchdog !== undefined) watchdog.onEnd(end);
    else if (end.kind === 'failed') notStarted(end);
    // The launcher was killed before there was a command. `holdfast` reports the end of the watchdog.
    else disconnect();
  },
);

function start(message: StartMessage): void {
  if (session === undefined) return;
  // `holdfast` was stopped between the grant and this message.
  if (sharedNow() >= latestStart(message)) {
    session.kill();
    return notStarted(TOO_LATE_FAILURE);
  }
  watchdog = new Watchdog(session, message);
}

function notStarted(failure: NotStarted): void {
  send(failure, disconnect);
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
process.on('disconnect', () => (watchdog === undefined ? session?.kill() : watchdog.stop()));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGQUIT'] as const) {
  process.on(signal, () => watchdog?.stop(signal));
}
// These signals do not ask for an end. Without a listener, HUP and USR2 kill the watchdog, and USR1 opens the debugger of Node.
for (const signal of ['SIGHUP', 'SIGUSR1', 'SIGUSR2', 'SIGWINCH'] as const)
  process.on(signal, () => undefined);
process.on('uncaughtException', (error) => {
  // Nobody would end the command later.
  session?.kill();
  process.stderr.write(`holdfast: a defect of the watchdog: ${error.stack ?? error.message}\n`, () =>
    process.exit(70),
  );
});
