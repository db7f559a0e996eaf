import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { runCommand } from '../../src/dev/run-command';
import { ROOT } from '../../test/support/root';
import type { Item } from '../words/corpus';
import type { Engine, Peer } from './peer';

const FOLDER = join(ROOT, 'bench');
const INSTALL_TIMEOUT_MS = 120_000;
const PAGE = 10;
/** The share of a word's letters that may be wrong, so that 5 letters have 1 edit and 10 letters have 2 edits. */
const FUZZY = 0.2;

interface SearchOptions {
  readonly prefix: boolean;
  readonly fuzzy: number | false;
  readonly combineWith: 'AND';
  boostDocument(id: number): number;
}

/** The used part of the package's types. The package is not among the project's own packages. */
interface MiniSearch {
  add(document: { readonly id: number; readonly text: string }): void;
  search(query: string, options: SearchOptions): { readonly id: number }[];
}
type MiniSearchClass = new (options: { fields: string[]; processTerm(term: string): string }) => MiniSearch;

interface Loaded {
  readonly index: MiniSearch;
  readonly weights: number[];
}

/** Installs the packages of bench/package.json. Resolves to the reason of a failure. */
async function install(): Promise<string | undefined> {
  if (existsSync(join(FOLDER, 'node_modules', 'minisearch'))) return undefined;
  const { code, stderr } = await runCommand('npm', ['ci'], { cwd: FOLDER, timeoutMs: INSTALL_TIMEOUT_MS });
  return code === 0 ? undefined : `npm ci in bench/ failed: ${stderr.trim().slice(-300)}`;
}

class MiniSearchEngine implements Engine {
  readonly pid = process.pid;
  private readonly corpora = new Map<string, Loaded>();

  constructor(
    private readonly create: MiniSearchClass,
    readonly version: string,
  ) {}

  load(corpus: string, items: Iterable<Item>): Promise<void> {
    const index = new this.create({ fields: ['text'], processTerm: (term) => term });
    const weights: number[] = [];
    for (const { folded, weight } of items) {
      index.add({ id: weights.length, text: folded });
      weights.push(weight);
    }
    this.corpora.set(corpus, { index, weights });
    return Promise.resolve();
  }

  find(corpus: string, ask: string, query: string): Promise<string[]> {
    const loaded = this.corpora.get(corpus);
    if (loaded === undefined) throw new Error(`${corpus} is not loaded`);
    const found = loaded.index.search(query, {
      prefix: true,
      fuzzy: ask === 'typo' && FUZZY,
      combineWith: 'AND',
      boostDocument: (id) => loaded.weights[id] ?? 0,
    });
    return Promise.resolve(found.slice(0, PAGE).map(({ id }) => String(id)));
  }

  empty(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

export const minisearch: Peer = {
  title: 'minisearch',
  abilities: {
    prefix: 'no: any word',
    'word prefix': 'yes, and the first word',
    suffix: 'no',
    contains: 'no',
    typo: 'whole words',
    'best by weight': 'no: weight and BM25',
    'later pages': 'yes',
    'a write is seen at once': 'in its process',
  },
  shortest: { 'word prefix': 1, typo: 4 },
  open: async () => {
    const problem = await install();
    if (problem !== undefined) return { missing: problem };
    const required = createRequire(join(FOLDER, 'package.json'));
    const about = await readFile(join(FOLDER, 'node_modules', 'minisearch', 'package.json'), 'utf8');
    const { version } = JSON.parse(about) as { version: string };
    return new MiniSearchEngine(required('minisearch') as MiniSearchClass, `minisearch ${version}`);
  },
};
