import type { Clock } from '../clock';
import { reportDefect } from '../errors';
import type { TimerEntry, TimerQueue } from './timer-queue';

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
  private readonly retries = new Set<TimerEntry>();
  private closed = false;

  constructor(
    private readonly clock: Clock,
    private readonly timers: TimerQueue,
    private readonly pauses: Pauses,
    private readonly onDefect: (error: unknown) => void,
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

  /** Ends all retries. A closed store answers no command, so a retry would only keep the process alive. */
  close(): void {
    this.closed = true;
    for (const retry of this.retries) retry.cancel();
    this.running -= this.retries.size;
    this.retries.clear();
  }

  private try(send: () => Promise<unknown>, pauseMs: number, until: number): void {
    send().then(
      () => (this.running -= 1),
      (error) => {
        reportDefect(error, this.onDefect);
        const retryAt = this.clock.now() + pauseMs;
        if (this.closed || retryAt >= until) {
          this.running -= 1;
          return;
        }
        const { growth, longestMs } = this.pauses;
        const retry = this.timers.at(retryAt, () => {
          this.retries.delete(retry);
          this.try(send, Math.min(growth * pauseMs, longestMs), until);
        });
        this.retries.add(retry);
      },
    );
  }
}
