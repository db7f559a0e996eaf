import { setTimeout as sleep } from 'node:timers/promises';
import { tableLine, type Figure } from '../support/figures';
import type { Library } from '../support/library';
import { corpusTitle, type Corpus } from '../words/corpus';

const SETTLED_MS = 1500;
const READ_INTERVAL_MS = 50;
const TIMEOUT_MS = 300_000;
/** The largest dictionary that is written to. */
const MOST_WRITTEN = 200_000;

interface Work {
  readonly what: string;
  readonly count: number;
  run(): Promise<unknown>;
}

/** Waits until the server has removed old entries: the number of keys does not change any more. */
async function settled(count: () => Promise<number>): Promise<void> {
  const startedAt = performance.now();
  let [value, since] = [await count(), performance.now()];
  while (performance.now() - since < SETTLED_MS) {
    if (performance.now() - startedAt > TIMEOUT_MS) throw new Error('keys kept changing for 5 minutes');
    await sleep(READ_INTERVAL_MS);
    const now = await count();
    if (now !== value) [value, since] = [now, performance.now()];
  }
}

function worksOn({ stage, group }: Library, dictionary: string, corpus: Corpus, amount: number): Work[] {
  const { first } = group;
  const put = (count: number, each: number) =>
    first.ask('put', { dictionary, corpus: { ...corpus, count }, each });
  const thenSettled = (work: Promise<unknown>) => work.then(() => settled(() => stage.redis.keyCount()));
  return [
    { what: 'PutEntries, 1 entry a call', count: amount, run: () => put(amount, 1) },
    { what: 'PutEntries, 1,000 entries a call', count: 10 * amount, run: () => put(10 * amount, 1000) },
    { what: 'RecordSelection', count: amount, run: () => first.ask('select', { dictionary, count: amount }) },
    {
      what: 'ImportDictionary over the old entries',
      count: corpus.count,
      run: () => thenSettled(first.ask('import', { dictionary, corpus })),
    },
    {
      what: 'DeleteDictionary',
      count: corpus.count,
      run: () => thenSettled(first.ask('drop', { dictionary })),
    },
  ];
}

/** The cost of writes to a dictionary that the server has in its memory. The last work deletes the dictionary. */
export async function writes(place: Library, corpora: readonly Corpus[], quick: boolean): Promise<Figure[]> {
  const corpus = corpora.filter(({ count }) => count <= MOST_WRITTEN).at(-1);
  if (corpus === undefined) return [];
  const imported = await place.dictionary(corpus);
  place.forget(imported);
  const { redis } = place.stage;
  const amount = Math.min(quick ? 200 : 2000, corpus.count / 10);
  const figures: Figure[] = [];
  for (const { what, count, run } of worksOn(place, imported.name, corpus, amount)) {
    await redis.resetStatistics();
    const cost = await place.costOf(count, run);
    const { script, command, slow } = await redis.longest();
    figures.push(
      ...tableLine(`Writes to ${corpusTitle(corpus)}, for each entry`, what, {
        'server CPU': [cost.server, 'µs'],
        'Redis CPU': [cost.redis, 'µs'],
        'longest script': [script, 'ms'],
        'longest single command in one': [command, 'ms'],
        'scripts over 2 ms': slow,
      }),
    );
  }
  return figures;
}
