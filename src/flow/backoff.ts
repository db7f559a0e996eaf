import type { Clock } from '../base/clock';
import { reportDefect } from '../base/errors';
import type { Runtime } from '../base/runtime';
import type { TimerEntry, TimerQueue } from './timer-queue';

const FIRST_MS = 1000;
const LONGEST_MS = 60_000;

/**
 * The pauses after repeated failures: 1 s, and then each twice as long, up to a minute. A minute without a failure after
 * a pause makes the next pause short again.
 */
export class GrowingPause {
  private lengthMs = 0;
  private endsAt = -Infinity;

  constructor(private readonly clock: Clock) {}

  get isOver(): boolean {
    return this.clock.now() >= this.endsAt;
  }

  begin(): void {
    const now = this.clock.now();
    const isFirst = now - this.endsAt > LONGEST_MS;
    this.lengthMs = isFirst ? FIRST_MS : Math.min(LONGEST_MS, 2 * this.lengthMs);
    this.endsAt = now + this.lengthMs;
  }

  /** Ends the pause. The next pause is short. */
  reset(): void {
    this.endsAt = -Infinity;
  }
}

/** The pauses between the tries of one command. */
export interface Pauses {
  readonly firstMs: number;
  /** Each pause is the pause before, times this factor. */
  readonly growth: number;
  readonly longestMs: number;
}

/** Sends commands that no call waits for. A failed command is sent again after a pause. */
export class BackgroundCommands {
  private running = 0;
  /** The commands that wait for their first try or for a retry. */
  private readonly pending = new Set<TimerEntry>();
  private closed = false;

  constructor(
    private readonly runtime: Runtime,
    private readonly timers: TimerQueue,
    private readonly pauses: Pauses,
  ) {}

  /** The number of commands that the store has not confirmed yet. */
  get count(): number {
    return this.running;
  }

  /** Sends the command now, and again until the store confirms the command. The last retry is sent before `until`. */
  run(send: () => Promise<unknown>, until: number): void {
    if (this.closed) return;
    this.running += 1;
    this.try(send, this.pauses.firstMs, until);
  }

  /** As `run`, but sends the command no sooner than `at`. */
  runAt(at: number, send: () => Promise<unknown>, until: number): void {
    if (this.closed) return;
    this.running += 1;
    this.tryAt(at, send, this.pauses.firstMs, until);
  }

  /** Ends all pending tries. A closed store answers no command, so a try would only keep the process alive. */
  close(): void {
    this.closed = true;
    for (const entry of this.pending) entry.cancel();
    this.running -= this.pending.size;
    this.pending.clear();
  }

  private tryAt(at: number, send: () => Promise<unknown>, pauseMs: number, until: number): void {
    const entry = this.timers.at(at, () => {
      this.pending.delete(entry);
      this.try(send, pauseMs, until);
    });
    this.pending.add(entry);
  }

  private try(send: () => Promise<unknown>, pauseMs: number, until: number): void {
    send().then(
      () => (this.running -= 1),
      (error) => {
        reportDefect(error, this.runtime.defect);
        const retryAt = this.runtime.clock.now() + pauseMs;
        if (this.closed || retryAt >= until) {
          this.running -= 1;
          return;
        }
        const { growth, longestMs } = this.pauses;
        this.tryAt(retryAt, send, Math.min(growth * pauseMs, longestMs), until);
      },
    );
  }
}
