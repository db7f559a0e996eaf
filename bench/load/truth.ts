/** Compares answers with the exact best ten of each query, and searches an index without a server. */
import { EntryCollector } from '../../src/autocomplete/index/build/collector';
import { buildLayer } from '../../src/autocomplete/index/build/builder';
import { openLayer, ownMemory } from '../../src/autocomplete/index/layer/layer-memory';
import { NONE_DEAD } from '../../src/autocomplete/index/layer/layer';
import { queryOf } from '../../src/autocomplete/index/search/query';
import type { View } from '../../src/autocomplete/index/layer/view';
import { suggest } from '../../src/autocomplete/index/search/view-suggest';
import { Work } from '../../src/autocomplete/index/work';
import { wantedKinds } from '../../src/autocomplete/text/match';
import { packRecord } from '../../src/autocomplete/record';
import type { MatchKind } from '../../src/autocomplete/suggestion';
import { Reference, type Judged, type Recall } from '../support/reference';
import { itemsOf, type Corpus, type Item } from '../words/corpus';
import { words } from '../words/words';
import { serveInBackground } from './serve-tasks';

const PAGE = 10;
const NO_PAYLOAD = Buffer.alloc(0);

/** The product's index in this process: a search without gRPC, without Redis and without the parts of an answer. */
class IndexSearch {
  private readonly view: View;

  constructor(items: Iterable<Item>) {
    const collector = new EntryCollector('kept');
    for (const { id, text, weight } of items) {
      collector.put(Buffer.from(id), packRecord({ text, aliases: [], weight, payload: NO_PAYLOAD }));
    }
    const layer = openLayer(buildLayer(collector, { allocate: ownMemory }));
    this.view = { layers: [{ layer, dead: NONE_DEAD }] };
  }

  /** The time of the search for the first page of this query (ms). The query is folded. */
  timeOf(query: string, kinds: readonly MatchKind[]): number {
    const startedAt = performance.now();
    const found = suggest(this.view, queryOf(query, wantedKinds(kinds, true)), PAGE, undefined, new Work());
    if (found.kind !== 'found') throw new Error('a search without a bound has stopped');
    return performance.now() - startedAt;
  }
}

/** Makes a value for each corpus once. */
function oncePerCorpus<T>(make: (items: Iterable<Item>) => T): (corpus: Corpus) => Promise<T> {
  const made = new Map<string, Promise<T>>();
  return (corpus) => {
    const key = JSON.stringify(corpus);
    const value = made.get(key) ?? words().then((known) => make(itemsOf(known, corpus)));
    made.set(key, value);
    return value;
  };
}

const referenceOf = oncePerCorpus((items) => Reference.of(items));
const indexOf = oncePerCorpus((items) => new IndexSearch(items));

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

serveInBackground(tasks);
