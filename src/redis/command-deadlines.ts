import type { Clock, Timer } from '../base/clock';

/** A command that fails at its deadline, unless it is settled before. */
export interface Expiring {
  readonly settled: boolean;
  /** By the monotonic clock (ms). */
  readonly deadline: number;
  /** Called once, at the deadline or up to `CHECK_INTERVAL_MS` later. */
  expire(): void;
}

const CHECK_INTERVAL_MS = 20;
/** Each failed command ends a call, so hundreds at once would hold the event loop for tens of milliseconds. */
const MOST_EXPIRED_AT_ONCE = 32;

/**
 * Fails commands at their deadlines, with one timer for all commands: up to `CHECK_INTERVAL_MS` late. After a pause of
 * this process, replies that arrived during the pause are read first, so the pause fails no command.
 */
export class CommandDeadlines {
  /** Commands that wait or were sent, and may be unsettled. */
  private pending: Expiring[] = [];
  private timer: Timer | undefined;

  constructor(private readonly clock: Clock) {}

  add(command: Expiring): void {
    this.pending.push(command);
    this.timer ??= this.checkLater();
  }

  private checkLater(): Timer {
    // Node runs timers before it reads sockets and immediates afterwards, so the check knows all replies that arrived.
    return this.clock.after(CHECK_INTERVAL_MS, () => setImmediate(() => this.check()));
  }

  private check(): void {
    const now = this.clock.now();
    const { pending } = this;
    this.pending = [];
    let expiredCount = 0;
    for (const command of pending) {
      if (command.settled) continue;
      const isLate = now >= command.deadline;
      if (!isLate || expiredCount === MOST_EXPIRED_AT_ONCE) {
        this.pending.push(command);
        continue;
      }
      expiredCount += 1;
      command.expire();
    }
    if (expiredCount === MOST_EXPIRED_AT_ONCE) setImmediate(() => this.check());
    else this.timer = this.pending.length === 0 ? undefined : this.checkLater();
  }
}
