import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

export interface Entry {
  readonly token: number;
  readonly worker: string;
  readonly note: string;
  /** Milliseconds since 1970; for display only. */
  readonly time: number;
}

export type Verdict = { readonly accepted: true } | { readonly accepted: false; readonly newerToken: bigint };

const FILE = 'entries.json';
/** How many entries are kept; it is an example's ledger. */
const KEPT = 20;
const MOST_LOOKS = 100;

/**
 * A protected store in miniature: it keeps the highest fencing token that has written, and refuses every write
 * with a lower one. No clock and no lease can do this for it: a worker that is stopped between its last look at the
 * clock and its write comes too late, and only the store, at the moment of the write, can see that.
 *
 * Look and write must therefore be one atomic step, with several processes at it and each of them killed or stopped
 * at any line. Here rename(2) is that step:
 *
 *     ledger/1763636400123456/entries.json      the folder's name is the highest token that has written
 *
 *  - A higher token takes over by renaming the folder to itself. Of two, one finds the old name gone, and looks
 *    again.
 *  - A write renames a finished file *into* the folder of its own token. If that name is gone the write fails, even
 *    when it was begun before the take-over: there is no window between looking and writing.
 *
 * There is no lock that a dead process could leave behind, and no half-written file. In a database the same is
 * `UPDATE … WHERE token <= :token`, in Redis a script, in an object store a conditional put.
 */
export class Ledger {
  constructor(private readonly folder: string) {}

  /** The newest accepted entry; undefined while there is none. */
  last(): Entry | undefined {
    for (;;) {
      const highest = this.highest();
      const entry = this.entries(highest).at(-1);
      // Nothing there, or renamed between the two looks?
      if (entry || this.highest() === highest) return entry;
    }
  }

  /** Adds an entry if no higher token has written yet. The same token may write again and again. */
  write(token: bigint, worker: string, note: string): Verdict {
    const entry: Entry = { token: Number(token), worker, note, time: Date.now() };
    for (;;) {
      const highest = this.highest();
      if (token < highest) return { accepted: false, newerToken: highest };
      if (token > highest) this.takeOver(highest, token);
      else if (this.append(token, entry)) return { accepted: true };
    }
  }

  /** Read anew each time: what was seen a moment ago proves nothing. */
  private highest(): bigint {
    // A folder that is renamed just now may be missing from the listing, so one look is not enough.
    for (let looks = 0; looks < MOST_LOOKS; looks++) {
      const tokens = this.names().filter((name) => /^\d+$/.test(name));
      if (tokens.length > 0) return tokens.map(BigInt).reduce((a, b) => (a > b ? a : b));
      this.create();
    }
    throw new Error(`${this.folder} holds something else than a ledger`);
  }

  private names(): string[] {
    try {
      return readdirSync(this.folder);
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return [];
      throw error;
    }
  }

  /**
   * Puts a ledger there whose highest token is 0, in one step and only once: no folder can be renamed onto one that
   * is not empty, and a ledger never is.
   */
  private create(): void {
    const made = `${this.folder}.new-${process.pid}`;
    mkdirSync(dirname(this.folder), { recursive: true });
    mkdirSync(join(made, '0'), { recursive: true });
    if (!succeeds(() => renameSync(made, this.folder), ['ENOTEMPTY', 'EEXIST'])) {
      rmSync(made, { recursive: true, force: true });
    }
  }

  private takeOver(from: bigint, to: bigint): void {
    succeeds(() => renameSync(join(this.folder, String(from)), join(this.folder, String(to))), ['ENOENT']);
  }

  private append(token: bigint, entry: Entry): boolean {
    const entries = [...this.entries(token), entry].slice(-KEPT);
    const finished = join(this.folder, `.${FILE}-${process.pid}`);
    writeFileSync(finished, `${JSON.stringify(entries, undefined, 1)}\n`, { flush: true });
    const target = join(this.folder, String(token), FILE);
    if (succeeds(() => renameSync(finished, target), ['ENOENT', 'ENOTDIR'])) return true;
    rmSync(finished, { force: true });
    return false;
  }

  private entries(token: bigint): Entry[] {
    try {
      return JSON.parse(readFileSync(join(this.folder, String(token), FILE), 'utf8')) as Entry[];
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return [];
      throw error;
    }
  }
}

function succeeds(step: () => void, expected: readonly string[]): boolean {
  try {
    step();
    return true;
  } catch (error) {
    if (expected.includes(codeOf(error) ?? '')) return false;
    throw error;
  }
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}
