import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CliError, EXIT } from '../exit-codes';
import { ProcessGroup } from './process-group';
import { TOO_LATE, type FromWatchdog, type StartMessage, type ToWatchdog } from './protocol';

export interface Ended {
  /** The exit code of the command; 128 + n after the signal n is the caller's affair. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** The watchdog has ended the command. */
  readonly wasStopped: boolean;
}

/** How long the watchdog may take to start (ms). */
const START_MS = 60_000;
/** How often a killed group is looked at until it has ended (ms). */
const RECHECK_MS = 20;

/** A command under a watchdog. */
export class GuardedCommand {
  private group: ProcessGroup | undefined;
  /** The command has ended, or was not executed. */
  private isOver = false;
  private readonly ready: Promise<void>;
  private readonly finished: Promise<Ended>;

  private constructor(private readonly watchdog: ChildProcess) {
    let onReady: () => void;
    this.ready = new Promise((resolve) => (onReady = resolve));
    this.finished = new Promise((resolve, reject) => {
      watchdog.on('message', (message: FromWatchdog) => {
        if (message.kind === 'ready') onReady();
        else if (message.kind === 'started') this.group = new ProcessGroup(message.group);
        else {
          this.isOver = true;
          if (message.kind === 'failed') reject(notExecuted(message));
          else resolve(message);
        }
      });
      watchdog.on('error', (error) => reject(new CliError(`the watchdog cannot start: ${error.message}`)));
      // The event comes after the last message. After `ended` and `failed` its rejection has no effect.
      watchdog.on('disconnect', () => void this.replaceWatchdog().then(reject));
    });
    // `start` or `ended` reports the error.
    this.finished.catch(() => undefined);
  }

  /** Starts the watchdog, before the lease is requested: its start takes no time of the lease. */
  static create(): GuardedCommand {
    const program = join(
      __dirname,
      existsSync(join(__dirname, 'watchdog.js')) ? 'watchdog.js' : 'watchdog.ts',
    );
    const watchdog = spawn(process.execPath, [program], {
      detached: true,
      stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    });
    return new GuardedCommand(watchdog);
  }

  /** Starts the command. Rejects with a CliError if the watchdog does not start. */
  async start(message: Omit<StartMessage, 'kind'>): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(
        () => reject(new CliError('the watchdog has not started within a minute')),
        START_MS,
      );
    });
    try {
      await Promise.race([this.ready, late, this.finished]);
    } finally {
      clearTimeout(timer);
    }
    this.send({ kind: 'start', ...message });
  }

  moveDeadline(deadline: number): void {
    this.send({ kind: 'deadline', deadline });
  }

  signal(signal: NodeJS.Signals): void {
    this.send({ kind: 'signal', signal });
  }

  /** Ends the command: SIGTERM now, and SIGKILL after the grace or before the deadline. */
  stop(): void {
    this.send({ kind: 'stop' });
  }

  /** Resolves when every process of the group has ended. Rejects with a CliError if the command was not executed. */
  ended(): Promise<Ended> {
    return this.finished;
  }

  /** Ends the watchdog, and the command if the command still runs. */
  close(): void {
    this.isOver = true;
    if (this.watchdog.connected) this.watchdog.disconnect();
  }

  /** Nobody else ends the command in time after a watchdog was killed. */
  private async replaceWatchdog(): Promise<CliError> {
    if (!this.isOver) {
      this.group?.signal('SIGKILL');
      while (this.group?.isAlive) await sleep(RECHECK_MS);
    }
    return new CliError('the watchdog was killed, so the command was killed too', EXIT.lost);
  }

  private send(message: ToWatchdog): void {
    // The callback ignores the error of a watchdog that has just ended. Its 'exit' event is handled.
    if (this.watchdog.connected) this.watchdog.send(message, () => undefined);
  }
}

function notExecuted({ code, message }: { code: string; message: string }): CliError {
  if (code === TOO_LATE) return new CliError(`the command was not started: ${message}`, EXIT.lost);
  if (code === 'ENOENT') return new CliError(`the command was not found: ${message}`, EXIT.notFound);
  return new CliError(`the command cannot be executed: ${message}`, EXIT.notExecutable);
}
