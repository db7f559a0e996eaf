import type { Command } from 'ioredis';
import type { Expiring } from './command-deadlines';
import { TIMED_OUT } from './failure-class';

export type Reply = string | null | Reply[];

/** An undecoded reply: texts and payloads are bytes, numbers are text. */
export type RawReply = Buffer | string | null | RawReply[];

/** Called once, with the error or the reply of a command. */
export type OnOutcome = (error: Error | undefined, reply: Reply[] | RawReply[] | undefined) => void;

const NO_ARGUMENTS: readonly string[] = [];

/**
 * A command with only those members that a connection of ioredis uses. The `Command` of ioredis copies arguments, makes
 * closures, a timer and a promise, and converts the reply, which costs more than the rest of a call in this server. The
 * version of ioredis is pinned, and test/store checks the members.
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

/** A script call in Redis's protocol. One join of all parts makes no intermediate text. */
export function commandText(
  verb: 'eval' | 'evalsha',
  script: string,
  keys: readonly string[],
  args: readonly (string | number)[],
): string {
  const parts = [headOf(verb, script, keys.length, args.length)];
  for (const key of keys) parts.push(prefixOf(Buffer.byteLength(key)), key);
  for (const arg of args) {
    if (typeof arg === 'string') {
      parts.push(prefixOf(Buffer.byteLength(arg)), arg);
    } else {
      const digits = String(arg);
      parts.push(prefixOf(digits.length), digits);
    }
  }
  parts.push('\r\n');
  return parts.join('');
}

interface Head {
  readonly keyCount: number;
  readonly argCount: number;
  readonly text: string;
}

/** The last head of each script that was called by its hash. Every call of a script has the same number of keys, mostly. */
const heads = new Map<string, Head>();

/** The part of a command before its keys. */
function headOf(verb: 'eval' | 'evalsha', script: string, keyCount: number, argCount: number): string {
  const known = verb === 'evalsha' ? heads.get(script) : undefined;
  if (known?.keyCount === keyCount && known.argCount === argCount) return known.text;
  let text = `*${3 + keyCount + argCount}`;
  for (const part of [verb, script, String(keyCount)]) text += prefixOf(Buffer.byteLength(part)) + part;
  if (verb === 'evalsha') heads.set(script, { keyCount, argCount, text });
  return text;
}

/** The protocol's text between two parts, by the number of bytes of the second. Made in advance for short parts. */
const PREFIXES = Array.from({ length: 512 }, (_, bytes) => `\r\n$${bytes}\r\n`);

function prefixOf(bytes: number): string {
  return PREFIXES[bytes] ?? `\r\n$${bytes}\r\n`;
}

/** Any command in Redis's protocol. Bytes are sent unchanged. Slower than `commandText`, because bytes are copied. */
export function commandBytes(parts: readonly (string | number | Uint8Array)[]): Buffer {
  const chunks: Uint8Array[] = [];
  let text = `*${parts.length}`;
  for (const part of parts) {
    if (part instanceof Uint8Array) {
      chunks.push(Buffer.from(text + prefixOf(part.length)), part);
      text = '';
    } else {
      const shown = String(part);
      text += prefixOf(Buffer.byteLength(shown)) + shown;
    }
  }
  chunks.push(Buffer.from(`${text}\r\n`));
  return Buffer.concat(chunks);
}
