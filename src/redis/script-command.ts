import type { Command } from 'ioredis';

export type Reply = string | null | Reply[];

/** What becomes of a command; exactly one of the two is called, once. */
export interface Outcome {
  answered(reply: Reply[]): void;
  failed(error: Error): void;
}

/**
 * A script call as ioredis sees it: just what its connection asks of a command, and no more. Its own `Command`
 * copies the arguments, makes closures, a timer and a promise, and converts the reply: more than all the rest
 * of the call's way through this server. The version is pinned, and test/store holds what this relies on.
 */
export class ScriptCommand {
  readonly inTransaction = false;
  /** ioredis's tracing is off for it. */
  readonly isTraced = true;
  /** For ioredis's error texts, where a lease's secret has no business. */
  readonly args: readonly string[] = [];
  readonly promise = undefined;
  private isSettled = false;

  constructor(
    readonly name: string,
    private readonly text: string,
    private readonly outcome: Outcome,
    /** When it is given up (ms of the connection's clock). */
    readonly deadline: number,
  ) {}

  get settled(): boolean {
    return this.isSettled;
  }

  /** As `client.sendCommand` takes it. */
  asCommand(): Command {
    return this as unknown as Command;
  }

  setReplyContext(): void {}

  /** Whoever sends it keeps the time. */
  setTimeout(): void {}

  toWritable(): string {
    return this.text;
  }

  resolve(reply: unknown): void {
    if (this.isSettled) return;
    this.isSettled = true;
    this.outcome.answered(decoded(reply) as Reply[]);
  }

  reject(error: Error): void {
    if (this.isSettled) return;
    this.isSettled = true;
    this.outcome.failed(error);
  }
}

function decoded(reply: unknown): Reply {
  if (Buffer.isBuffer(reply)) return reply.toString();
  return Array.isArray(reply) ? reply.map(decoded) : (reply as Reply);
}

/** The call in Redis's protocol. */
export function commandText(
  verb: 'eval' | 'evalsha',
  script: string,
  keys: readonly string[],
  args: readonly (string | number)[],
): string {
  let text = `*${3 + keys.length + args.length}\r\n${bulk(verb)}${bulk(script)}${bulk(String(keys.length))}`;
  for (const key of keys) text += bulk(key);
  for (const arg of args) text += bulk(typeof arg === 'string' ? arg : String(arg));
  return text;
}

function bulk(text: string): string {
  return `$${Buffer.byteLength(text)}\r\n${text}\r\n`;
}
