import type { Command, Redis } from 'ioredis';
import type { Clock } from '../base/clock';
import { Batch, type BatchedOperation, callText, type Group, settleAll } from './batch';
import { NOT_WRITTEN, TIMED_OUT } from './failure-class';
import type { CommandDeadlines, Expiring } from './deadlines';
import { commandBytes, type OnOutcome, type RawReply, type Reply } from './script';

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
    /** `CommandDeadlines` fails the command at this time if Redis has not replied (ms, monotonic clock). */
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
  readonly batch: Batch;
  readonly stream: Redis['stream'];
  readonly since: number;
}

/**
 * The longest time from the first to the last command of a write (ms). So Redis already works during a long turn of the
 * event loop.
 */
const LONGEST_COLLECTION_MS = 1;

export interface WriterOptions {
  /** True for a node of a Cluster: the operations of a command must be of one bucket. */
  readonly byBucket: boolean;
  /** Called for each command with several operations. */
  readonly onShared?: (operationCount: number) => void;
}

/**
 * Writes commands to one connection. The commands of a short turn of the event loop leave in one write, and the operations of a
 * library in as few commands as possible, behind the other commands.
 */
export class CommandWriter {
  /** The write that is not sent yet. */
  private open: PendingWrite | undefined;

  constructor(
    private readonly client: () => Redis,
    private readonly clock: Clock,
    private readonly deadlines: CommandDeadlines,
    private readonly options: WriterOptions,
  ) {}

  /** `asking`: the command's slot is still moving to this node. ASKING holds for the next command of the connection. */
  write(command: ScriptCommand, asking: boolean): Flush {
    const flush = this.currentWrite();
    // If ASKING fails, Redis redirects the command.
    if (asking) this.ask();
    this.deadlines.add(command);
    this.send(command);
    return flush;
  }

  /** The operation leaves in a command with others. */
  writeTogether(operation: BatchedOperation): Flush {
    const flush = this.currentWrite();
    this.deadlines.add(operation);
    flush.batch.add(operation);
    return flush;
  }

  /** The operation leaves in a command of its own, behind those that were asked for before it. */
  writeAlone(operation: BatchedOperation, asking: boolean): Flush {
    const flush = this.currentWrite();
    flush.batch.flush();
    if (asking) this.ask();
    this.deadlines.add(operation);
    this.sendGroup(flush.stream, [operation]);
    return flush;
  }

  /** Sends what was collected, because an operation follows that runs as a script. */
  flush(): void {
    this.open?.batch.flush();
  }

  private ask(): void {
    this.send(new ScriptCommand('asking', ASKING, Infinity, () => undefined, false));
  }

  private sendGroup(stream: Redis['stream'], group: Group): void {
    // The operations know the epoch of the Redis of their connection.
    if (this.client().stream !== stream) return settleAll(group, new Error(NOT_WRITTEN), undefined);
    const onOutcome: OnOutcome = (error, replies) => settleAll(group, error, replies as Reply[] | undefined);
    if (group.length > 1) this.options.onShared?.(group.length);
    // Each operation has its own deadline.
    this.send(new ScriptCommand('fcall', callText(group), Infinity, onOutcome, false));
  }

  private send(command: ScriptCommand): void {
    void this.client().sendCommand(command.asCommand());
  }

  private currentWrite(): PendingWrite {
    const { stream } = this.client();
    const now = this.clock.now();
    // A send that fails at once may begin the next write.
    for (let { open } = this; open !== undefined; { open } = this) {
      if (open.stream === stream && now - open.since <= LONGEST_COLLECTION_MS) return open;
      this.finish(open);
    }
    const batch = new Batch(this.options.byBucket, (group) => this.sendGroup(stream, group));
    const next: PendingWrite = { stream, since: now, at: undefined, batch };
    this.open = next;
    stream.cork();
    setImmediate(() => this.finish(next));
    return next;
  }

  private finish(write: PendingWrite): void {
    if (write.at !== undefined) return;
    if (this.open === write) this.open = undefined;
    try {
      write.batch.flush();
    } finally {
      write.at = this.clock.now();
      write.stream.uncork();
    }
  }
}
