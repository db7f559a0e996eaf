import type { Clock, Timer } from '../../engine/clock';
import { TIMED_OUT } from './failure-class';
import type { ScriptCommand } from './script-command';

const CHECK_INTERVAL_MS = 20;

/**
 * Fails commands at their deadlines, with one timer for all commands: up to `CHECK_INTERVAL_MS` late. After a pause of
 * this process, replies that arrived during the pause are read first, so the pause fails no command.
 */
export class CommandDeadlines {
  /** Commands that were sent and may be unsettled. */
  private pending: ScriptCommand[] = [];
  private timer: Timer | undefined;

  constructor(private readonly clock: Clock) {}

  add(command: ScriptCommand): void {
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
    for (const command of pending) {
      if (command.settled) continue;
      if (now < command.deadline) this.pending.push(command);
      else command.reject(new Error(TIMED_OUT));
    }
    this.timer = this.pending.length === 0 ? undefined : this.checkLater();
  }
}
