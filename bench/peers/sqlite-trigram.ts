import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import type { Writable } from 'node:stream';
import { runCommand } from '../../src/dev/run-command';
import { ROOT } from '../../test/support/root';
import { batchesOf } from '../load/batches';
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

type Message =
  | { readonly load: string; readonly texts: readonly string[] }
  | { readonly find: string; readonly parts: readonly string[] }
  | { readonly empty: true };

/** The Python program answers each line with one line, in order. */
class SqliteEngine implements Engine {
  private readonly waiting: ((line: string) => void)[] = [];
  /** The ids of each corpus in the order of the rows, which is the order of rank. */
  private readonly ids = new Map<string, string[]>();

  constructor(
    private readonly requests: Writable,
    answers: Interface,
    readonly pid: number,
    readonly version: string,
  ) {
    answers.on('line', (line) => this.waiting.shift()?.(line));
  }

  /** Rows are inserted in the order of rank, because FTS5 reads rows in this order fast. Later writes would break it. */
  async load(corpus: string, items: Iterable<Item>): Promise<void> {
    const ranked = [...items].sort((a, b) => b.weight - a.weight || (a.folded < b.folded ? -1 : 1));
    this.ids.set(
      corpus,
      ranked.map(({ id }) => id),
    );
    for (const batch of batchesOf(ranked, BATCH)) {
      await this.ask({ load: corpus, texts: batch.map(({ folded }) => `^${folded}$`) });
    }
  }

  async find(corpus: string, ask: Ask, query: string): Promise<string[]> {
    if (ask === 'typo') throw new Error('trigrams find no typos');
    const rows = JSON.parse(await this.ask({ find: corpus, parts: PARTS[ask](query) })) as number[];
    const ids = this.ids.get(corpus);
    return rows.map((row) => ids?.[row - 1] ?? '');
  }

  async empty(): Promise<void> {
    await this.ask({ empty: true });
  }

  /** The program ends with its input. */
  close(): Promise<void> {
    return new Promise((resolve) => this.requests.end(resolve));
  }

  private ask(message: Message): Promise<string> {
    return new Promise((resolve) => {
      this.waiting.push(resolve);
      this.requests.write(`${JSON.stringify(message)}\n`);
    });
  }
}

async function open(): Promise<Engine | { readonly missing: string }> {
  const probe = await runCommand('python3', [PROGRAM, '--probe'], { timeoutMs: PROBE_TIMEOUT_MS });
  if (probe.code !== 0) {
    return { missing: `python3 has no SQLite with trigrams: ${probe.stderr.trim().slice(-200)}` };
  }
  const child = spawn('python3', [PROGRAM], { stdio: ['pipe', 'pipe', 'inherit'] });
  const answers = createInterface({ input: child.stdout });
  // A launcher may start another process, so the program tells its own number.
  const [pid] = (await once(answers, 'line')) as [string];
  return new SqliteEngine(child.stdin, answers, Number(pid), probe.stdout.trim());
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
