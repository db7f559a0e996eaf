import crypto from 'node:crypto';
import type { Clock } from '../base/clock';
import type { Log } from '../base/log';
import { nextTurn } from '../flow/turns';
import type { Caller } from './caller';
import { identityProblem } from './identity';
import { onMonotonicClock, readRfc3339 } from './time-of-day';
import { type NamedFile, UnusableFile, WatchedFiles } from './watched-files';

interface TokenLine {
  /** With its prefix `token:`. */
  readonly identity: string;
  /** SHA-256 of the token in hexadecimal, lower case. */
  readonly digest: string;
  /** The end as a time of day (ms). Infinity: the token does not end. */
  readonly endsAtMs: number;
}

/** The most tokens of one file. */
const MAX_TOKENS = 10_000;
/** Lines that are read in one turn of the event loop. */
const LINES_PER_TURN = 200;

/**
 * Reads the lines `identity sha256:<hex> [expires]`. Throws an error. Its message begins with the number of the line.
 * The last line must end with a line feed, so a file that is cut off is noticed in most cases. An empty file has no
 * token, because the removal of the last line makes such a file.
 */
export async function readTokenLines(text: string): Promise<readonly TokenLine[]> {
  if (text !== '' && !text.endsWith('\n')) {
    throw new Error('the last line does not end with a line feed, so the file may be half written');
  }
  const found: TokenLine[] = [];
  const lineOfDigest = new Map<string, number>();
  for (const [index, line] of text.split('\n').entries()) {
    if (index % LINES_PER_TURN === LINES_PER_TURN - 1) await nextTurn();
    const token = readTokenLine(line, index + 1);
    if (token === undefined) continue;
    const earlier = lineOfDigest.get(token.digest);
    if (earlier !== undefined) throw new Error(`line ${index + 1} has the same token as line ${earlier}`);
    lineOfDigest.set(token.digest, index + 1);
    found.push(token);
    if (found.length > MAX_TOKENS) throw new Error(`line ${index + 1} exceeds ${MAX_TOKENS} tokens`);
  }
  return found;
}

function readTokenLine(line: string, number: number): TokenLine | undefined {
  const [name, digest, expires, ...rest] = line.trim().split(/[ \t]+/);
  if (name === undefined || name === '' || name.startsWith('#')) return undefined;
  const hex = /^sha256:([0-9a-fA-F]{64})$/.exec(digest ?? '')?.[1];
  if (hex === undefined || rest.length > 0) {
    throw new Error(`line ${number} is not "identity sha256:<64 hexadecimal digits> [expires]"`);
  }
  const identity = `token:${name}`;
  const problem = identityProblem(identity);
  if (problem !== undefined)
    throw new Error(`line ${number} has an identity that is not accepted: ${problem}`);
  const endsAtMs = expires === undefined ? Infinity : readRfc3339(expires);
  if (endsAtMs === undefined) {
    throw new Error(`line ${number} has an end that is not a time such as 2030-01-31T12:00:00Z`);
  }
  return { identity, digest: hex.toLowerCase(), endsAtMs };
}

const MAX_FILE_BYTES = 4 * 2 ** 20;

interface TokenCaller extends Caller {
  expiresAt: number;
}

interface Token {
  readonly digest: Buffer;
  readonly caller: TokenCaller;
}

export interface TokenFileOptions {
  readonly file: NamedFile;
  readonly clock: Clock;
  readonly log: Log;
  /** Called when the end of a caller's credential has changed: a token was removed, or has another end. */
  readonly onChanged: (caller: Caller) => void;
  readonly intervalMs?: number | undefined;
}

/** The callers with a token of the token file. The file has digests only, so the file does not give the tokens away. */
export class TokenFile {
  private tokens: ReadonlyMap<string, Token> = new Map();
  private readonly watched: WatchedFiles;

  constructor(private readonly options: TokenFileOptions) {
    const { file, log, intervalMs } = options;
    this.watched = new WatchedFiles({
      files: [file],
      subject: 'the tokens',
      maxBytes: MAX_FILE_BYTES,
      load: ([content]) => this.load(content ?? Buffer.alloc(0)),
      log,
      intervalMs,
    });
  }

  /** Rejects with an UnusableFile. */
  start(): Promise<void> {
    return this.watched.start();
  }

  /**
   * The caller with a token. The end of the token may have passed. The time of the look-up says nothing about tokens,
   * because a guesser cannot choose a digest; the digests themselves are compared in constant time.
   */
  find(digest: string): Caller | undefined {
    const token = this.tokens.get(digest);
    if (token === undefined || !crypto.timingSafeEqual(token.digest, Buffer.from(digest, 'hex')))
      return undefined;
    return token.caller;
  }

  /** Whether the last change could not be used, so that older tokens are in use. */
  get hasFailed(): boolean {
    return this.watched.hasFailed;
  }

  close(): void {
    this.watched.close();
  }

  private async load(content: Buffer): Promise<void> {
    const { file, log } = this.options;
    let lines: readonly TokenLine[];
    try {
      lines = await readTokenLines(new TextDecoder('utf-8', { fatal: true }).decode(content));
    } catch (cause) {
      const problem = cause instanceof Error ? cause.message : String(cause);
      throw new UnusableFile(`${file.setting} cannot be used: ${problem}`, { cause });
    }
    if (lines.length === 0)
      log.warn({ file: file.path }, 'the token file has no token: all its tokens are refused');
    this.replace(lines);
  }

  /** A token that was in the file before keeps its caller, so that open calls continue. */
  private replace(lines: readonly TokenLine[]): void {
    const { clock, onChanged } = this.options;
    const before = this.tokens;
    const tokens = new Map<string, Token>();
    const changed: TokenCaller[] = [];
    for (const { digest, identity, endsAtMs } of lines) {
      const expiresAt = endsAtMs === Infinity ? Infinity : onMonotonicClock(clock, endsAtMs);
      const known = before.get(digest);
      if (known?.caller.identity === identity) {
        known.caller.expiresAt = expiresAt;
        changed.push(known.caller);
        tokens.set(digest, known);
      } else {
        tokens.set(digest, { digest: Buffer.from(digest, 'hex'), caller: { identity, expiresAt } });
      }
    }
    for (const [digest, token] of before) {
      if (tokens.get(digest) === token) continue;
      token.caller.expiresAt = -Infinity;
      changed.push(token.caller);
    }
    this.tokens = tokens;
    for (const caller of changed) onChanged(caller);
  }
}
