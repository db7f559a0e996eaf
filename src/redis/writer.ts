import type { Command, Redis } from 'ioredis';
import type { Clock, Timer } from '../base/clock';
import { inTurns } from '../flow/turns';
import { TIMED_OUT } from './failure-class';
import { commandBytes } from './script';

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

export type Reply = string | null | Reply[];

/** An undecoded reply: texts and payloads are bytes, numbers are text. */
export type RawReply = Buffer | string | null | RawReply[];

/** Called once, with the error or the reply of a command. */
export type OnOutcome = (error: Error | undefined, reply: Reply[] | RawReply[] | undefined) => void;

const NO_ARGUMENTS: readonly string[] = [];

/**
 * A command with only those members that a connection of ioredis uses. The `Command` of ioredis copies arguments, makes
 * closures, a timer and a promise, and converts the reply, which costs more than the rest of a call in this server. The
 * version of ioredis is pinned, and test/redis checks the members.
 */
export class ScriptCommand implements Expiring {
  readonly inTransaction = false;
  /** Switches the tracing of ioredis off. */
  readonly isTraced = true;
  /** ioredis puts these arguments into error texts, which must not contain the secret of a lease. */
  readonly args = NO_ARGUMENTS;
  readonly promise = undefined;
  private isSettled = false;

  constructor(
    readonly name: string,
    private readonly text: string | Buffer,
    /** The command fails at this time if Redis has not replied (ms, monotonic clock). */
    readonly deadline: number,
    private readonly onOutcome: OnOutcome,
    /** True: the reply stays undecoded. False: all bytes of the reply are UTF-8 and become text. */
    private readonly isRaw: boolean,
  ) {}

  get settled(): boolean {
    return this.isSettled;
  }

  /** For `client.sendCommand`. */
  asCommand(): Command {
    return this as unknown as Command;
  }

  setReplyContext(): void {}

  /** Does nothing, because `CommandDeadlines` checks the deadline. */
  setTimeout(): void {}

  toWritable(): string | Buffer {
    return this.text;
  }

  resolve(reply: unknown): void {
    // After the deadline the command has failed, as one that may have been carried out.
    if (this.isSettled) return;
    this.isSettled = true;
    this.onOutcome(undefined, this.isRaw ? (reply as RawReply[]) : (decoded(reply) as Reply[]));
  }

  /** Fails the command at its deadline. */
  expire(): void {
    this.reject(new Error(TIMED_OUT));
  }

  reject(error: Error): void {
    if (this.isSettled) return;
    this.isSettled = true;
    this.onOutcome(error, undefined);
  }
}

function decoded(reply: unknown): Reply {
  if (Buffer.isBuffer(reply)) return reply.toString();
  return Array.isArray(reply) ? reply.map(decoded) : (reply as Reply);
}

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
