import type { Clock, Timer } from '../base/clock';
import { StoreFailure } from '../base/errors';
import { inTurns } from '../flow/turns';
import { pause } from '../flow/waiting';
import type { CommandLink, Verdict } from './commands';

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
    const unsettled = this.pending.filter((command) => !command.settled);
    this.pending = unsettled.filter(({ deadline }) => now < deadline);
    inTurns(
      unsettled.filter(({ deadline }) => now >= deadline),
      MOST_EXPIRED_AT_ONCE,
      (command) => this.expireIfLate(command),
    );
    this.timer = this.pending.length === 0 ? undefined : this.checkLater();
  }

  /** Since the check, a reply may have come, or the deadline may have moved. */
  private expireIfLate(command: Expiring): void {
    if (command.settled) return;
    if (this.clock.now() >= command.deadline) command.expire();
    else this.add(command);
  }
}

/**
 * The pause before a retry after a failed epoch check, and while ioredis still reports a lost connection as ready (ms).
 */
const RETRY_PAUSE_MS = 10;

/** Decides when an operation that did nothing may be sent again over the same connection. */
export class RetryTimes {
  constructor(
    private readonly link: CommandLink,
    private readonly clock: Clock,
  ) {}

  /** Resolves with true when the operation can be sent again, and with false if it cannot before its deadline. */
  async readyAgain(deadline: number): Promise<boolean> {
    // Wait, because commands in flight fail before the connection reports its loss.
    await Promise.resolve();
    // ioredis calls a connection ready until 'close', one turn of the event loop after the connection's end.
    if (this.link.isReady) await pause(this.clock, RETRY_PAUSE_MS);
    return this.clock.now() < deadline && (await this.link.becomesReady(deadline));
  }

  /** The verdict of an epoch check. After a check that failed because of the store, the operation is sent again. */
  async verdictOf(check: Promise<Verdict>): Promise<Verdict> {
    try {
      return await check;
    } catch (error) {
      if (!(error instanceof StoreFailure)) throw error;
      // The connection was lost, or the run of Redis changed.
      await pause(this.clock, RETRY_PAUSE_MS);
      return { kind: 'again' };
    }
  }
}
