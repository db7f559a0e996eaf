import { identityProblem } from './identity';
import { readRfc3339 } from './time-of-day';

export interface TokenLine {
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
    if (index % LINES_PER_TURN === LINES_PER_TURN - 1) await new Promise(setImmediate);
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
