import type { ChildExit } from './child-supervisor';
import { complainsOfFullDisk, diskFullText, isFull } from './run-command';

/** A line of Redis's log: process id, role, time, level (`#` is a warning), text. */
const LOG_LINE = /^\d+:\w \d+ \w+ \d+ [\d:.]+ ([.\-*#]) (.+)$/;
/** Warnings that Redis writes at every start. */
const USUAL = /^(WARNING |Server initialized|oO0OoO0OoO0Oo|Redis version=|Configuration loaded)/;
const MOST_LINES = 3;
const MOST_CHARS = 300;

/** The last warnings of Redis's log, without the head of each line. Of other output: the last lines. */
export function reasonsOf(output: string): string[] {
  const lines = output.split('\n').filter((line) => line.trim() !== '');
  const logged = lines.flatMap((line) => {
    const [, level, text = ''] = LOG_LINE.exec(line) ?? [];
    return level === undefined ? [] : [{ level, text }];
  });
  const warnings = logged.filter(({ level, text }) => level === '#' && !USUAL.test(text));
  const found = logged.length === 0 ? lines : warnings.map(({ text }) => text);
  return found.slice(-MOST_LINES).map((line) => line.slice(0, MOST_CHARS));
}

export interface BackoffDelays {
  /** The delay before the second restart. Each further delay is twice as long. */
  readonly firstMs: number;
  readonly maxMs: number;
}

const DELAYS: BackoffDelays = { firstMs: 250, maxMs: 30_000 };
/** A program that has run for this time is considered sound: the next restart has no delay. */
const SOUND_AFTER_MS = 60_000;

/**
 * The delays before the restarts of a program that ends again and again: 0, then 250 ms, doubled up to 30 s. The first
 * restart has no delay, because leases expire in the meantime. All times are in ms on one monotonic clock.
 */
export class RestartBackoff {
  private attempts = 0;
  private startedAt: number | undefined;

  constructor(private readonly delays = DELAYS) {}

  /** The number of restarts since the program was last sound. */
  get count(): number {
    return this.attempts;
  }

  started(now: number): void {
    this.startedAt = now;
  }

  /** The program has ended or could not be started. Returns the delay before the next start. */
  ended(now: number): number {
    if (this.startedAt !== undefined && now - this.startedAt >= SOUND_AFTER_MS) this.attempts = 0;
    this.startedAt = undefined;
    this.attempts += 1;
    const { firstMs, maxMs } = this.delays;
    return this.attempts === 1 ? 0 : Math.min(maxMs, firstMs * 2 ** (this.attempts - 2));
  }
}

/** While the disk is full, the free space is checked this often. Redis is not started in vain. */
const SPACE_CHECK_MS = 1_000;
/** Redis is started after this time at the latest, because not every lack of space can be measured. */
const MAX_SPACE_WAIT_MS = 30_000;
/** A note with the same reason is repeated no sooner. */
const REPEAT_NOTE_MS = 60_000;
/** After repeated failures, a note says that Redis runs again when Redis has run for this time. */
const RECOVERED_AFTER_MS = 3_000;

export interface RedisRestartsOptions {
  /** Starts Redis. Rejects if the program cannot be run. */
  readonly start: () => Promise<unknown>;
  readonly dataFolder: string;
  readonly logFile: string;
  /** Prints a text for the user. */
  readonly note: (text: string) => void;
  readonly delays?: BackoffDelays | undefined;
  /** Default: asks the file system of the folder. */
  readonly isFull?: (folder: string) => Promise<boolean>;
}

/** Starts Redis again whenever it ends, for as long as necessary, and tells the user what happens and why. */
export class RedisRestarts {
  private readonly backoff: RestartBackoff;
  private stopped = false;
  private timer: NodeJS.Timeout | undefined;
  private lastNote: { readonly text: string; readonly at: number } | undefined;

  constructor(private readonly options: RedisRestartsOptions) {
    this.backoff = new RestartBackoff(options.delays);
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
  }

  async onExit({ code, signal, lastOutput = '' }: ChildExit): Promise<void> {
    await this.onFailure(`Redis has ended (${signal ?? `exit code ${code}`})`, lastOutput);
  }

  private async onFailure(event: string, output: string): Promise<void> {
    clearTimeout(this.timer);
    const delayMs = this.backoff.ended(performance.now());
    const hasNoSpace = await this.hasNoSpace();
    if (this.stopped) return;
    this.tell(event, output, hasNoSpace || complainsOfFullDisk(output));
    const startBy = performance.now() + MAX_SPACE_WAIT_MS;
    if (hasNoSpace) this.after(SPACE_CHECK_MS, () => this.startWithSpace(startBy));
    else this.after(delayMs, () => this.start());
  }

  /** The text is printed again only if it differs, or after a minute. */
  private tell(event: string, output: string, isDiskFull: boolean): void {
    const { dataFolder, logFile, note } = this.options;
    const reasons = reasonsOf(output).map((line) => `\n    Redis: ${line}`);
    const advice = isDiskFull
      ? `${diskFullText(dataFolder)}. Then Redis is started again with the same data.`
      : this.backoff.count === 1
        ? 'Restarting it with the same data.'
        : `Restarting it with the same data, again and again, with pauses of up to 30 s. The log: ${logFile}`;
    const text = `${event}.${reasons.join('')}${reasons.length > 0 ? '\n    ' : ' '}${advice}`;
    const now = performance.now();
    if (this.lastNote?.text === text && now - this.lastNote.at < REPEAT_NOTE_MS) return;
    this.lastNote = { text, at: now };
    note(text);
  }

  private async startWithSpace(startBy: number): Promise<void> {
    const wait = performance.now() < startBy && (await this.hasNoSpace());
    if (wait) this.after(SPACE_CHECK_MS, () => this.startWithSpace(startBy));
    else await this.start();
  }

  private hasNoSpace(): Promise<boolean> {
    return (this.options.isFull ?? isFull)(this.options.dataFolder);
  }

  private async start(): Promise<void> {
    if (this.stopped) return;
    try {
      await this.options.start();
    } catch (error) {
      await this.onFailure(`Redis cannot be started: ${(error as Error).message}`, '');
      return;
    }
    this.backoff.started(performance.now());
    if (this.backoff.count === 1) return;
    this.after(RECOVERED_AFTER_MS, () => {
      this.lastNote = undefined;
      this.options.note('Redis runs again, with the same data');
    });
  }

  private after(delayMs: number, work: () => Promise<void> | void): void {
    if (this.stopped) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void work(), delayMs);
    this.timer.unref();
  }
}
