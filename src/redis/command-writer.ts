import type { Redis } from 'ioredis';
import type { Clock } from '../base/clock';
import type { CommandDeadlines } from './command-deadlines';
import { commandBytes, ScriptCommand } from './script-command';

const ASKING = commandBytes(['ASKING']).toString();

/** The commands that leave this process in one write. */
export interface Flush {
  /** When the commands left (ms, monotonic clock). Undefined: not yet. */
  readonly at: number | undefined;
}

interface PendingWrite extends Flush {
  at: number | undefined;
  readonly stream: Redis['stream'];
  readonly since: number;
}

/**
 * The longest time from the first to the last command of a write (ms). So Redis already works during a long turn of the
 * event loop.
 */
const LONGEST_COLLECTION_MS = 1;

/** Writes commands to one connection. The commands of a short turn of the event loop leave in one write. */
export class CommandWriter {
  /** The write that is not sent yet. */
  private open: PendingWrite | undefined;

  constructor(
    private readonly client: () => Redis,
    private readonly clock: Clock,
    private readonly deadlines: CommandDeadlines,
  ) {}

  /** `asking`: the command's slot is still moving to this node. ASKING holds for the next command of the connection. */
  write(command: ScriptCommand, asking: boolean): Flush {
    const flush = this.currentWrite();
    // If ASKING fails, Redis redirects the command.
    if (asking) this.send(new ScriptCommand('asking', ASKING, command.deadline, () => undefined, false));
    this.send(command);
    return flush;
  }

  private send(command: ScriptCommand): void {
    this.deadlines.add(command);
    void this.client().sendCommand(command.asCommand());
  }

  private currentWrite(): PendingWrite {
    const { open } = this;
    const { stream } = this.client();
    const now = this.clock.now();
    if (open?.stream === stream && now - open.since <= LONGEST_COLLECTION_MS) return open;
    if (open) this.finish(open);
    const next: PendingWrite = { stream, since: now, at: undefined };
    this.open = next;
    stream.cork();
    setImmediate(() => this.finish(next));
    return next;
  }

  private finish(write: PendingWrite): void {
    if (write.at !== undefined) return;
    if (this.open === write) this.open = undefined;
    write.at = this.clock.now();
    write.stream.uncork();
  }
}
