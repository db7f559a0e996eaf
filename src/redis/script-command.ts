import type { Command } from 'ioredis';

export type Reply = string | null | Reply[];

/**
 * One EVALSHA or EVAL on its way through an ioredis connection. ioredis keeps the order of replies and says
 * when the connection broke; its own `Command`, which serves every command and option there is, costs more to
 * make than a script call costs to write (measured: 8.3 us against 3.2 us of the server's 130 us for an acquire,
 * `npm run bench -- unary`). This has what ioredis asks of a command, and no more.
 */
export class ScriptCommand {
  readonly args: readonly string[] = [];
  readonly inTransaction = false;
  /** Traced already, as far as ioredis is concerned. */
  readonly isTraced = true;
  settled = false;

  constructor(
    readonly name: 'eval' | 'evalsha',
    private readonly text: string,
    /** Monotonic time (ms) from which on the command counts as unanswered. */
    readonly deadline: number,
    private readonly onReply: (reply: Reply[]) => void,
    private readonly onError: (error: Error) => void,
  ) {}

  /** As ioredis's `sendCommand` takes it. */
  asCommand(): Command {
    return this as unknown as Command;
  }

  setReplyContext(): void {}
  /** The connection's own timeout is `deadline`. */
  setTimeout(): void {}

  toWritable(): string {
    return this.text;
  }

  resolve(reply: unknown): void {
    if (this.settled) return;
    this.settled = true;
    this.onReply(decoded(reply) as Reply[]);
  }

  reject(error: Error): void {
    if (this.settled) return;
    this.settled = true;
    this.onError(error);
  }
}

/** The command as Redis reads it (RESP): an array of bulk strings, of which only the lengths are in bytes. */
export function encodeScriptCall(
  verb: 'eval' | 'evalsha',
  script: string,
  keys: readonly string[],
  args: readonly (string | number)[],
): string {
  let text = `*${3 + keys.length + args.length}\r\n`;
  text += bulk(verb) + bulk(script) + bulk(String(keys.length));
  for (const key of keys) text += bulk(key);
  for (const arg of args) text += bulk(typeof arg === 'string' ? arg : String(arg));
  return text;
}

function bulk(text: string): string {
  return `$${Buffer.byteLength(text)}\r\n${text}\r\n`;
}

function decoded(reply: unknown): Reply {
  if (Array.isArray(reply)) return reply.map(decoded);
  return Buffer.isBuffer(reply) ? reply.toString() : (reply as Reply);
}
