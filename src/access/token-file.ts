import crypto from 'node:crypto';
import type { Clock } from '../base/clock';
import type { Log } from '../base/log';
import type { Caller } from './caller';
import { onMonotonicClock } from './time-of-day';
import { readTokenLines, type TokenLine } from './token-lines';
import { UnusableFile, WatchedFiles, type NamedFile } from './watched-files';

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
