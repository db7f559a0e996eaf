import { join } from 'node:path';
import { runCommand } from '../../src/dev/run-command';
import { ROOT } from '../../test/support/root';
import { batchesOf } from '../load/batches';
import { LoadProcess } from '../support/load-process';
import type { Missing } from '../support/yardsticks';
import type { Item } from '../words/corpus';
import type { Ask, Engine, Peer } from './peer';

const PROGRAM = join(ROOT, 'bench', 'peers', 'sqlite-trigram.py');
const PROBE_TIMEOUT_MS = 20_000;
const BATCH = 5000;

/** A mark stands at the beginning and at the end of a text, so that one trigram proves a beginning of two letters. */
const PARTS: Readonly<Record<Exclude<Ask, 'typo'>, (query: string) => string[]>> = {
  prefix: (query) => [`^${query}`],
  'word prefix': (query) => [`^${query}`, ` ${query}`],
  suffix: (query) => [`${query}$`],
  contains: (query) => [query],
};

/** The tasks of the Python program. */
type SqliteTasks = {
  open(input: object): Promise<number>;
  load(input: { corpus: string; texts: readonly string[] }): Promise<void>;
  find(input: { corpus: string; parts: readonly string[] }): Promise<number[]>;
  empty(input: object): Promise<void>;
};

class SqliteEngine implements Engine {
  /** The ids of each corpus in the order of the rows, which is the order of rank. */
  private readonly ids = new Map<string, string[]>();

  constructor(
    private readonly program: LoadProcess<SqliteTasks>,
    readonly pid: number,
    readonly version: string,
  ) {}

  /** Rows are inserted in the order of rank, because FTS5 reads rows in this order fast. Later writes would break it. */
  async load(corpus: string, items: Iterable<Item>): Promise<void> {
    const ranked = [...items].sort((a, b) => b.weight - a.weight || (a.folded < b.folded ? -1 : 1));
    this.ids.set(
      corpus,
      ranked.map(({ id }) => id),
    );
    for (const batch of batchesOf(ranked, BATCH)) {
      await this.program.ask('load', { corpus, texts: batch.map(({ folded }) => `^${folded}$`) });
    }
  }

  async find(corpus: string, ask: Ask, query: string): Promise<string[]> {
    if (ask === 'typo') throw new Error('trigrams find no typos');
    const rows = await this.program.ask('find', { corpus, parts: PARTS[ask](query) });
    const ids = this.ids.get(corpus);
    return rows.map((row) => ids?.[row - 1] ?? '');
  }

  async empty(): Promise<void> {
    await this.program.ask('empty', {});
  }

  close(): Promise<void> {
    this.program.end();
    return Promise.resolve();
  }
}

async function open(): Promise<Engine | Missing> {
  const probe = await runCommand('python3', [PROGRAM, '--probe'], { timeoutMs: PROBE_TIMEOUT_MS });
  if (probe.code !== 0) {
    return { missing: `python3 has no SQLite with trigrams: ${probe.stderr.trim().slice(-200)}` };
  }
  const program = new LoadProcess<SqliteTasks>({ command: ['python3', PROGRAM] });
  // A launcher may start another process, so the program tells its own number.
  return new SqliteEngine(program, await program.ask('open', {}), probe.stdout.trim());
}

export const sqliteTrigram: Peer = {
  title: 'SQLite FTS5 trigram',
  abilities: {
    prefix: 'from 2 letters',
    'word prefix': 'from 2 letters, and the first word',
    suffix: 'from 2 letters',
    contains: 'from 3 letters',
    typo: 'no',
    'best by weight': 'as inserted',
    'later pages': 'yes',
    'a write is seen at once': 'not in rank',
  },
  shortest: { prefix: 2, 'word prefix': 2, suffix: 2, contains: 3 },
  open,
};
