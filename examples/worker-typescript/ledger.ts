import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

export interface Entry {
  readonly token: number;
  readonly worker: string;
  readonly note: string;
  /** Milliseconds since 1970, only for display. */
  readonly time: number;
}

export type Verdict = { readonly accepted: true } | { readonly accepted: false; readonly newerToken: bigint };

const FILE = 'entries.json';
/** Only the newest entries are kept, because the ledger is an example. */
const MAX_ENTRIES = 20;
const MAX_READS = 100;

/**
 * A small protected store. The ledger stores the highest fencing token that has written, and refuses every write with a
 * lower token. Only the store can make this check, because a worker may be paused between its last look at the clock
 * and its write.
 *
 * The check and the write must be one atomic step, although several processes write and each process may be killed or
 * stopped at any line. Here rename(2) is this step:
 *
 *     ledger/1763636400123456/entries.json      the name of the folder is the highest token that has written
 *
 *  - A worker with a higher token renames the folder to its own token. If two workers do so at the same time, one
 *    worker does not find the old name and reads the folder again.
 *  - A write renames a finished file *into* the folder of its own token. If this folder no longer exists, the write
 *    fails, even if the write started before the rename of the folder.
 *
 * A killed process leaves no lock and no partial file. The same check in a database is
 * `UPDATE … WHERE token <= :token`, in Redis a script, in an object store a conditional put.
 */
export class Ledger {
  constructor(private readonly folder: string) {}

  /** The newest accepted entry. Undefined: there is no entry yet. */
  last(): Entry | undefined {
    for (;;) {
      const highest = this.highest();
      const entry = this.entries(highest).at(-1);
      // No entry: either the ledger is empty, or the folder was renamed between the two reads.
      if (entry || this.highest() === highest) return entry;
    }
  }

  /** Adds an entry if no higher token has written. The same token may write several times. */
  write(token: bigint, worker: string, note: string): Verdict {
    const entry: Entry = { token: Number(token), worker, note, time: Date.now() };
    for (;;) {
      const highest = this.highest();
      if (token < highest) return { accepted: false, newerToken: highest };
      if (token > highest) this.takeOver(highest, token);
      else if (this.append(token, entry)) return { accepted: true };
    }
  }

  /** The highest token that has written. Reads the folder, because another process may have changed the folder. */
  private highest(): bigint {
    // A directory listing may miss a folder that is being renamed, so the listing is repeated.
    for (let reads = 0; reads < MAX_READS; reads++) {
      const tokens = this.names().filter((name) => /^\d+$/.test(name));
      if (tokens.length > 0) return tokens.map(BigInt).reduce((a, b) => (a > b ? a : b));
      this.create();
    }
    throw new Error(`${this.folder} is not a ledger: choose an empty folder`);
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
   * Creates a ledger with the highest token 0 in one step. An existing ledger stays, because a folder cannot be renamed
   * to a folder that is not empty, and a ledger is never empty.
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
    const entries = [...this.entries(token), entry].slice(-MAX_ENTRIES);
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
