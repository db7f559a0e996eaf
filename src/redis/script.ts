import { createHash } from 'node:crypto';

export interface Script {
  readonly sha: string;
  readonly text: string;
  /**
   * True: each send of the script adds two arguments: `not_after`, a time by Redis's clock (us) after which the script
   * must do nothing, because its caller has got a failure; and 1 if an earlier send may have run, else 0.
   */
  readonly isTimed: boolean;
  /** The operation of a library that does the same. Undefined: no library has the script. */
  readonly operation?: LibraryOperation | undefined;
}

/** The functions of a library by which Redis carries out its operations. Redis checks the flags of the function. */
export type Entry = 'keep' | 'grow' | 'read';

/** An operation of a library, and the function that carries it out. */
export interface LibraryOperation {
  readonly name: string;
  readonly entry: Entry;
  /** The text of the library, with `LIBRARY` in place of its name. */
  readonly library: string;
}

export function script(
  text: string,
  { isTimed = false, operation }: Partial<Pick<Script, 'isTimed' | 'operation'>> = {},
): Script {
  return { text, sha: createHash('sha1').update(text).digest('hex'), isTimed, operation };
}

/** The script of an operation, which has this name in the library. The entry has the flags of the script. */
export function operation(library: string, name: string, text: string): Script {
  const flags = text.slice(0, text.indexOf('\n'));
  const entry = flags.includes('allow-oom') ? 'keep' : flags.includes('no-writes') ? 'read' : 'grow';
  return script(text, { operation: { name, entry, library } });
}

/** An argument of a command. Bytes are sent unchanged. */
export type RawArgument = string | number | Uint8Array;

export type Reply = string | null | Reply[];

/** An undecoded reply: texts and payloads are bytes, numbers are text. */
export type RawReply = Buffer | string | null | RawReply[];

/** Called once, with the error or the reply of a command. */
export type OnOutcome = (error: Error | undefined, reply: Reply[] | RawReply[] | undefined) => void;

/** What a command carries out: an idempotent script; or a command of Redis that may run twice. */
interface Sendable {
  readonly run: Script | string;
  readonly keys: readonly string[];
}

/** A command in Redis's protocol. `verb` counts for scripts only. */
export function encoded(
  verb: 'eval' | 'evalsha',
  { run, keys }: Sendable,
  args: readonly RawArgument[],
): string | Buffer {
  if (typeof run === 'string') return commandBytes([run, ...keys, ...args]);
  const script = verb === 'eval' ? run.text : run.sha;
  if (isText(args)) return commandText(verb, script, keys, args);
  return commandBytes([verb, script, keys.length, ...keys, ...args]);
}

function isText(args: readonly RawArgument[]): args is readonly (string | number)[] {
  return args.every((arg) => typeof arg !== 'object');
}

/** For errors: the hash of the script, or the command of Redis. */
export function nameOf({ run }: Pick<Sendable, 'run'>): string {
  return typeof run === 'string' ? run : run.sha;
}

/** A call of a script or a function in Redis's protocol. One join of all parts makes no intermediate text. */
export function commandText(
  verb: 'eval' | 'evalsha' | 'fcall',
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

/** The verb and the hash or name of each script and function, in Redis's protocol. */
const verbs = new Map<string, string>();

/** The part of a command before its keys. */
function headOf(verb: string, script: string, keyCount: number, argCount: number): string {
  let called = verbs.get(script);
  if (called === undefined) {
    called = [verb, script].map((part) => prefixOf(Buffer.byteLength(part)) + part).join('');
    if (verb !== 'eval') verbs.set(script, called);
  }
  const keys = String(keyCount);
  return `*${3 + keyCount + argCount}${called}${prefixOf(keys.length)}${keys}`;
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
