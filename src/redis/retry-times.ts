import type { Clock } from '../base/clock';
import { StoreFailure } from '../base/errors';
import type { CommandLink } from './command-link';
import type { Verdict } from './operation';

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
    if (this.link.isReady) await this.pause();
    return this.clock.now() < deadline && (await this.link.becomesReady(deadline));
  }

  /** The verdict of an epoch check. After a check that failed because of the store, the operation is sent again. */
  async verdictOf(check: Promise<Verdict>): Promise<Verdict> {
    try {
      return await check;
    } catch (error) {
      if (!(error instanceof StoreFailure)) throw error;
      // The connection was lost, or the run of Redis changed.
      await this.pause();
      return { kind: 'again' };
    }
  }

  private pause(): Promise<void> {
    return new Promise((resolve) => this.clock.after(RETRY_PAUSE_MS, resolve));
  }
}
