import type { Command } from 'ioredis';

export type Reply = string | null | Reply[];

/** A reply as it came: texts and payloads are bytes, numbers are text. */
export type RawReply = Buffer | string | null | RawReply[];

/** What becomes of a command: it failed, or was answered. Called once. */
export type OnOutcome = (error: Error | undefined, reply: Reply[] | RawReply[] | undefined) => void;

const NO_ARGUMENTS: readonly string[] = [];

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
  readonly args = NO_ARGUMENTS;
  readonly promise = undefined;
  private isSettled = false;

  constructor(
    readonly name: string,
    private readonly text: string | Buffer,
    /** When it is given up (ms of the connection's clock). */
    readonly deadline: number,
    private readonly onOutcome: OnOutcome,
    /** The reply is wanted as it comes; else every byte of it is UTF-8, and it is wanted as text. */
    private readonly isRaw: boolean,
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

  toWritable(): string | Buffer {
    return this.text;
  }

  resolve(reply: unknown): void {
    if (this.isSettled) return;
    this.isSettled = true;
    this.onOutcome(undefined, this.isRaw ? (reply as RawReply[]) : (decoded(reply) as Reply[]));
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

/** The call in Redis's protocol: its parts in one array and joined at once, which makes no text in between. */
export function commandText(
  verb: 'eval' | 'evalsha',
  script: string,
  keys: readonly string[],
  args: readonly (string | number)[],
): string {
  const lines = [`*${3 + keys.length + args.length}`];
  addBulk(lines, verb);
  addBulk(lines, script);
  addBulk(lines, String(keys.length));
  for (const key of keys) addBulk(lines, key);
  for (const arg of args) addBulk(lines, typeof arg === 'string' ? arg : String(arg));
  lines.push('');
  return lines.join('\r\n');
}

/**
 * Any command in Redis's protocol, from the parts it is made of; bytes go out as they are. Slower than `commandText`,
 * for it copies.
 */
export function commandBytes(parts: readonly (string | number | Uint8Array)[]): Buffer {
  const chunks: Uint8Array[] = [];
  let lines = [`*${parts.length}`];
  for (const part of parts) {
    if (part instanceof Uint8Array) {
      lines.push(LENGTHS[part.length] ?? `$${part.length}`, '');
      chunks.push(Buffer.from(lines.join('\r\n')), part);
      lines = [''];
    } else {
      addBulk(lines, String(part));
    }
  }
  lines.push('');
  chunks.push(Buffer.from(lines.join('\r\n')));
  return Buffer.concat(chunks);
}

/** The first line of a text of so many bytes, made once for those that are usual. */
const LENGTHS = Array.from({ length: 512 }, (_, bytes) => `$${bytes}`);

function addBulk(lines: string[], text: string): void {
  const bytes = Buffer.byteLength(text);
  lines.push(LENGTHS[bytes] ?? `$${bytes}`, text);
}
