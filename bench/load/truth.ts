/** Compares answers with the exact best ten of each query, and searches an index without a server. */
import { constants, setPriority } from 'node:os';
import type { MatchKind } from '../../src/engine/autocomplete/suggestion';
import { IndexSearch } from '../support/index-search';
import { Reference, type Judged, type Recall } from '../support/reference';
import { itemsOf, type Corpus } from '../words/corpus';
import { words } from '../words/words';
import { serveTasks } from './serve-tasks';

const references = new Map<string, Promise<Reference>>();

function referenceOf(corpus: Corpus): Promise<Reference> {
  const key = JSON.stringify(corpus);
  const reference = references.get(key) ?? words().then((known) => Reference.of(itemsOf(known, corpus)));
  references.set(key, reference);
  return reference;
}

const indexes = new Map<string, Promise<IndexSearch>>();

function indexOf(corpus: Corpus): Promise<IndexSearch> {
  const key = JSON.stringify(corpus);
  const index = indexes.get(key) ?? words().then((known) => new IndexSearch(itemsOf(known, corpus)));
  indexes.set(key, index);
  return index;
}

interface Searches {
  readonly corpus: Corpus;
  readonly kinds: readonly MatchKind[];
  readonly queries: readonly string[];
  /** V8 optimizes the code during these queries. */
  readonly warmUp: readonly string[];
}

export interface SearchTimes {
  /** The time of each search (ms). */
  readonly times: readonly number[];
  /** The mean CPU of a search (µs). */
  readonly cpu: number;
}

const tasks = {
  search: async ({ corpus, kinds, queries, warmUp }: Searches): Promise<SearchTimes> => {
    const index = await indexOf(corpus);
    for (const query of warmUp) index.timeOf(query, kinds);
    const before = process.cpuUsage();
    const times = queries.map((query) => index.timeOf(query, kinds));
    const { user, system } = process.cpuUsage(before);
    return { times, cpu: (user + system) / queries.length };
  },
  /** The mean recall of the answers. */
  recall: async ({ corpus, judged }: { corpus: Corpus; judged: readonly Judged[] }): Promise<Recall> => {
    const reference = await referenceOf(corpus);
    const all = judged.map((one) => reference.judge(one));
    const mean = (part: keyof Recall) => all.reduce((sum, one) => sum + one[part], 0) / all.length;
    return { found: mean('found'), placed: mean('placed') };
  },
};

export type TruthTasks = typeof tasks;

// This process has a low priority, because other processes are measured.
setPriority(constants.priority.PRIORITY_LOW);
serveTasks(tasks);
