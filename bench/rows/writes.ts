import type { Library } from '../support/library';
import { unchanged } from '../support/settled';
import { corpusTitle, type Corpus } from '../words/corpus';
import { Cells } from './cells';
import type { Figure } from './row';

const SETTLED_MS = 1500;
/** The largest dictionary that is written to. */
const MOST_WRITTEN = 200_000;

interface Work {
  readonly what: string;
  readonly count: number;
  run(): Promise<unknown>;
}

function worksOn(place: Library, dictionary: string, corpus: Corpus, amount: number): Work[] {
  const { redis } = place.stage;
  const { first } = place.group;
  /** Waits until the server has removed the old entries. */
  const settled = () => unchanged(SETTLED_MS, () => redis.keyCount());
  const put = (count: number, each: number) =>
    first.ask('put', { dictionary, corpus: { ...corpus, count }, each });
  return [
    { what: 'PutEntries, 1 entry a call', count: amount, run: () => put(amount, 1) },
    { what: 'PutEntries, 1,000 entries a call', count: 10 * amount, run: () => put(10 * amount, 1000) },
    { what: 'RecordSelection', count: amount, run: () => first.ask('select', { dictionary, count: amount }) },
    {
      what: 'ImportDictionary over the old entries',
      count: corpus.count,
      run: async () => {
        await first.ask('import', { dictionary, corpus });
        await settled();
      },
    },
    {
      what: 'DeleteDictionary',
      count: corpus.count,
      run: async () => {
        await first.ask('drop', { dictionary });
        await settled();
      },
    },
  ];
}

/** The cost of writes to a dictionary that the server has in its memory. The last work deletes the dictionary. */
export async function writes(place: Library, corpora: readonly Corpus[], quick: boolean): Promise<Figure[]> {
  const corpus = corpora.filter(({ count }) => count <= MOST_WRITTEN).at(-1);
  if (corpus === undefined) return [];
  const imported = await place.dictionary(corpus);
  place.forget(imported);
  const amount = Math.min(quick ? 200 : 2000, corpus.count / 10);
  const figures: Figure[] = [];
  for (const { what, count, run } of worksOn(place, imported.name, corpus, amount)) {
    await place.stage.redis.resetStatistics();
    const cost = await place.cpuOf(count, run);
    const { script, command, slow } = await place.held();
    const cells = new Cells(`Writes to ${corpusTitle(corpus)}, for each entry`, what)
      .add('server CPU', cost.server, 'µs')
      .add('Redis CPU', cost.redis, 'µs')
      .add('longest script', script, 'ms')
      .add('longest single command in one', command, 'ms')
      .add('scripts over 2 ms', slow);
    figures.push(...cells.figures);
  }
  return figures;
}
