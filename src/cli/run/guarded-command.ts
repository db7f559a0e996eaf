import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CliError, EXIT } from '../terminal';
import { endText, lateMs, LONGEST_SLEEP_MS, ProcessSession, RECHECK_MS, sharedNow } from './processes';
import {
  INVALID_NAME,
  TOO_LATE,
  type Ended,
  type FromWatchdog,
  type StartMessage,
  type ToWatchdog,
} from './protocol';

/** How long the watchdog may take to start (ms). */
const START_MS = 60_000;

/**
 * A command under a watchdog. Each of two processes ends the command in time without the other: the watchdog, and after
 * half of the margin this process, in case the watchdog is stopped or was killed.
 */
export class GuardedCommand {
  /** Known before the command starts. Without a session there is no command. */
  private session: ProcessSession | undefined;
  private start: StartMessage | undefined;
  private deadline = Infinity;
  /** The command has ended, or was not executed. */
  private isOver = false;
  private isSending = false;
  private timer: NodeJS.Timeout | undefined;
  private readonly isReady: Promise<void>;
  private readonly finished: Promise<Ended>;

  private constructor(private readonly watchdog: ChildProcess) {
    let onReady: () => void;
    this.isReady = new Promise((resolve) => (onReady = resolve));
    this.finished = new Promise((resolve, reject) => {
      watchdog.on('message', (message: FromWatchdog) => {
        if (message.kind === 'ready') {
          this.session = new ProcessSession(message.session);
          onReady();
        } else {
          this.end();
          if (message.kind === 'failed') reject(notExecuted(message));
          else resolve(message);
        }
      });
      watchdog.on('error', (error) => reject(new CliError(`the watchdog cannot start: ${error.message}`)));
      // The event comes after the last message. After `ended` and `failed` its rejection has no effect.
      watchdog.on('disconnect', () => void this.replaceWatchdog().then(reject, reject));
    });
    // `ready` or `ended` reports the error.
    this.finished.catch(() => undefined);
  }

  /**
   * Starts the watchdog, before the lease is requested: its start takes no time of the lease.
   * @param env the environment of the watchdog. The command has its own.
   */
  static create(env: NodeJS.ProcessEnv): GuardedCommand {
    const watchdog = spawn(process.execPath, [watchdogProgram()], {
      env,
      detached: true,
      stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    });
    return new GuardedCommand(watchdog);
  }

  /** Resolves when the watchdog can start a command at once. Rejects with a CliError if the watchdog does not start. */
  async ready(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      const error = new CliError('the watchdog has not started within a minute');
      timer = setTimeout(() => reject(error), START_MS);
    });
    try {
      await Promise.race([this.isReady, late, this.finished]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Starts the command, after `ready`. Signals that are sent after this call reach the command. */
  run(message: Omit<StartMessage, 'kind'>): void {
    this.start = { kind: 'start', ...message };
    this.deadline = message.deadline;
    this.send(this.start);
    this.guard();
  }

  /** A renewal has moved the deadline. */
  moveDeadline(deadline: number): void {
    this.deadline = deadline;
    // A stopped watchdog reads nothing, and its unread messages must not fill the memory. The next deadline is sent.
    if (this.isSending) return;
    this.isSending = true;
    this.send({ kind: 'deadline', deadline }, () => (this.isSending = false));
  }

  signal(signal: NodeJS.Signals): void {
    this.send({ kind: 'signal', signal });
  }

  /** Ends the command: SIGTERM now, and SIGKILL after the grace or before the deadline. */
  stop(): void {
    this.send({ kind: 'stop' });
  }

  /** Resolves when every process of the session has ended. Rejects with a CliError if the command was not executed. */
  ended(): Promise<Ended> {
    return this.finished;
  }

  /** Ends the watchdog, and the command if the command still runs. */
  close(): void {
    this.end();
    if (this.watchdog.connected) this.watchdog.disconnect();
    // A stopped watchdog must not keep this process from its end.
    this.watchdog.unref();
  }

  private end(): void {
    this.isOver = true;
    clearTimeout(this.timer);
  }

  /** Kills the command and the watchdog if the watchdog has not killed the command in time. */
  private guard(): void {
    if (this.isOver || this.start === undefined) return;
    const wait = this.deadline - this.start.marginMs / 2 - sharedNow();
    if (wait <= 0) {
      this.session?.signal('SIGKILL');
      this.watchdog.kill('SIGKILL');
      return;
    }
    this.timer = setTimeout(() => this.guard(), Math.min(wait, LONGEST_SLEEP_MS));
  }

  /** Nobody else ends the command in time after a watchdog was killed. */
  private async replaceWatchdog(): Promise<CliError> {
    if (this.start === undefined)
      return new CliError('the watchdog has ended before the start of the command', EXIT.defect);
    while (!this.isOver && this.session?.isAlive) {
      // Again: a process that was started during the last SIGKILL may have made a group of its own.
      this.session.signal('SIGKILL');
      await sleep(RECHECK_MS);
    }
    this.end();
    const end = endText(true, lateMs(this.deadline));
    return new CliError(`the watchdog was killed or did not answer; ${end}`, EXIT.lost);
  }

  private send(message: ToWatchdog, then: () => void = () => undefined): void {
    // The callback ignores the error of a watchdog that has just ended. Its 'disconnect' event is handled.
    if (this.watchdog.connected) this.watchdog.send(message, then);
  }
}

/** Tests run this file from its source, but the watchdog must be built. */
function watchdogProgram(): string {
  const root = join(__dirname, '..', '..', '..');
  return __filename.endsWith('.ts')
    ? join(root, 'dist', 'src', 'cli', 'run', 'watchdog.js')
    : join(__dirname, 'watchdog.js');
}

function notExecuted({ code, message }: { code: string; message: string }): CliError {
  if (code === TOO_LATE) return new CliError(`the command was not started: ${message}`, EXIT.lost);
  if (code === 'ENOENT' || code === INVALID_NAME) {
    return new CliError(`the command was not found: ${message}`, EXIT.notFound);
  }
  return new CliError(`the command cannot be executed: ${message}`, EXIT.notExecutable);
}
