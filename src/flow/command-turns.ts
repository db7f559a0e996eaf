import type { Clock } from '../base/clock';
import { FairQueue } from './fair-queue';

/** Commands that begin in one turn of the event loop. */
const COMMANDS_PER_TURN = 32;
/** In one turn, no command begins after this time (ms). */
const LONGEST_TURN_MS = 0.5;

/**
 * Lets the commands of all sessions begin in an order that is fair to the sessions. Few commands begin in each turn
 * of the event loop, as with calls at the gate. So a message with a thousand commands, or with 1 MiB of metadata,
 * delays neither other clients nor renewals.
 */
export class CommandTurns {
  private readonly queue = new FairQueue<() => void>();
  private isDue = false;

  constructor(private readonly clock: Pick<Clock, 'now'>) {}

  /** Runs `begin` in a later turn, after the earlier commands of the session. */
  push(session: object, begin: () => void): void {
    this.queue.push(session, begin);
    this.turnSoon();
  }

  private turnSoon(): void {
    if (this.isDue) return;
    this.isDue = true;
    setImmediate(() => this.turn());
  }

  private turn(): void {
    this.isDue = false;
    const endsAt = this.clock.now() + LONGEST_TURN_MS;
    for (let count = 0; count < COMMANDS_PER_TURN && this.queue.size > 0; count += 1) {
      this.queue.shift()?.();
      if (this.clock.now() >= endsAt) break;
    }
    if (this.queue.size > 0) this.turnSoon();
  }
}
