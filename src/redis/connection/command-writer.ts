import type { Redis } from 'ioredis';
import type { Clock } from '../../engine/clock';
import type { CommandDeadlines } from './command-deadlines';
import { commandBytes, ScriptCommand } from './script-command';

const ASKING = commandBytes(['ASKING']).toString();

/** The commands that leave this process in one write. */
export interface Flush {
  /** When the commands left (ms, monotonic clock). Undefined: not yet. */
  at: number | undefined;
}

/** Writes commands to one connection. All commands of one turn of the event loop leave in one write. */
export class CommandWriter {
  private corkedStream: Redis['stream'] | undefined;
  private flush: Flush = { at: undefined };

  constructor(
    private readonly client: () => Redis,
    private readonly clock: Clock,
    private readonly deadlines: CommandDeadlines,
  ) {}

  /** `asking`: the command's slot is still moving to this node. ASKING holds for the next command of the connection. */
  write(command: ScriptCommand, asking: boolean): Flush {
    this.cork();
    const { flush } = this;
    // If ASKING fails, Redis redirects the command.
    if (asking) this.send(new ScriptCommand('asking', ASKING, command.deadline, () => undefined, false));
    this.send(command);
    return flush;
  }

  private send(command: ScriptCommand): void {
    this.deadlines.add(command);
    void this.client().sendCommand(command.asCommand());
  }

  private cork(): void {
    const { stream } = this.client();
    if (this.corkedStream === stream) return;
    this.corkedStream = stream;
    const flush: Flush = { at: undefined };
    this.flush = flush;
    stream.cork();
    setImmediate(() => {
      if (this.corkedStream === stream) this.corkedStream = undefined;
      flush.at = this.clock.now();
      stream.uncork();
    });
  }
}
