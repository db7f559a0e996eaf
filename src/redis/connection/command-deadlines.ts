import type { Clock, Timer } from '../../engine/clock';
import { TIMED_OUT } from './failure-class';
import type { ScriptCommand } from './script-command';

/** How often unanswered commands are looked for. */
const SWEEP_INTERVAL_MS = 20;

/** One timer for all commands: a little late is as good as on time for one that will not be answered. */
export class Deadlines {
  /** Sent and perhaps not yet settled. */
  private pending: ScriptCommand[] = [];
  private timer: Timer | undefined;

  constructor(private readonly clock: Clock) {}

  /** Fails the command at its deadline, unless it has been settled by then. */
  keep(command: ScriptCommand): void {
    this.pending.push(command);
    this.timer ??= this.clock.after(SWEEP_INTERVAL_MS, () => this.sweep());
  }

  private sweep(): void {
    const now = this.clock.now();
    const { pending } = this;
    this.pending = [];
    for (const command of pending) {
      if (command.settled) continue;
      if (now < command.deadline) this.pending.push(command);
      else command.reject(new Error(TIMED_OUT));
    }
    this.timer =
      this.pending.length === 0 ? undefined : this.clock.after(SWEEP_INTERVAL_MS, () => this.sweep());
  }
}
