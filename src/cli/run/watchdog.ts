/**
 * The watchdog of `holdfast lock run`, `semaphore run` and `elect`: a small process that has the command started, and ends
 * the command before the deadline of the lease. The watchdog has its own event loop and its own session, so the command ends
 * in time while `holdfast` is stopped (SIGSTOP), hangs, or was killed (SIGKILL).
 */
import { CommandSession } from './command-session';
import { lateMs } from './end-text';
import { RECHECK_MS } from './process-session';
import {
  TOO_LATE_FAILURE,
  type CommandEnd,
  type FromWatchdog,
  type NotStarted,
  type StartMessage,
  type ToWatchdog,
} from './protocol';
import { LONGEST_SLEEP_MS, sharedNow } from './shared-clock';

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
