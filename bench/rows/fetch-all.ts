import type { MatchKind } from '../../generated/typescript/holdfast/v1/autocomplete_service';
import type { NamesTasks } from '../load/names';
import { cpuMs } from '../support/cpu';
import { LoadProcess } from '../support/load-process';
import type { Library } from '../support/library';
import { ratios, spreadOf } from '../support/statistics';
import type { Figure, RowContext } from './row';
import { sizeName, sizesFor } from './sizes';

/** Larger dictionaries would take too long. */
const MOST_ENTRIES = 200_000;

/** The time from a query to its answer (ms), and the CPU of Redis (µs). */
interface Side {
  readonly ms: number;
  readonly redis: number;
}

interface SearchQueries {
  readonly how: 'prefix' | 'substring';
  readonly kinds: readonly MatchKind[];
  readonly queriesOf: (count: number, amount: number) => string[];
}

/** Compares Suggest with a client that fetches and searches all names, one query at a time. */
export async function compareWithFetchingAll(
  place: Library,
  { how, kinds, queriesOf }: SearchQueries,
  { quick, say }: RowContext,
): Promise<Figure[]> {
  const { redis } = place.stage;
  const names = new LoadProcess<NamesTasks>('names');
  const figures: Figure[] = [];
  try {
    await names.ask('connect', { port: redis.port, clients: 1 });
    for (const count of sizesFor(quick).filter((size) => size <= MOST_ENTRIES)) {
      const dictionary = (await place.dictionary({ count, typos: true })).name;
      await names.ask('fill', { count });
      const rounds: { ours: Side; theirs: Side }[] = [];
      for (let turn = 0; turn < (quick ? 3 : 6); turn += 1) {
        const queries = queriesOf(count, 200);
        const few = queries.slice(0, 5);
        const questions = queries.map((query) => ({ dictionary, query, pageSize: 10, kinds }));
        const ours = await side(redis.pid, queries.length, () => place.duration(questions));
        const theirs = await side(redis.pid, few.length, () => names.ask('fetch', { queries: few, how }));
        if (turn > 0) rounds.push({ ours, theirs });
      }
      await names.ask('drop', undefined);
      figures.push(...figuresOf(sizeName(count), rounds));
      say(`${sizeName(count)}: ${rounds.length} rounds, compared with a client that fetches all`);
    }
    return figures;
  } finally {
    names.end();
  }
}

async function side(pid: number, count: number, work: () => Promise<unknown>): Promise<Side> {
  const [startedAt, cpu] = [performance.now(), cpuMs(pid)];
  await work();
  return { ms: (performance.now() - startedAt) / count, redis: ((cpuMs(pid) - cpu) * 1000) / count };
}

function figuresOf(size: string, rounds: readonly { ours: Side; theirs: Side }[]): Figure[] {
  const of = (which: 'ours' | 'theirs', part: keyof Side) => rounds.map((one) => one[which][part]);
  const times = (part: keyof Side) => spreadOf(ratios(of('ours', part), of('theirs', part)));
  return [
    { what: `${size}, 1 client: time to the answer, by fetching all`, unit: '×', value: times('ms') },
    { what: `${size}, 1 client: Redis CPU, by fetching all`, unit: '×', value: times('redis') },
    { what: `${size}, 1 client: time to the answer`, unit: 'ms', value: spreadOf(of('ours', 'ms')) },
    { what: `${size}: fetching all: time to the answer`, unit: 'ms', value: spreadOf(of('theirs', 'ms')) },
    { what: `${size}: fetching all: Redis CPU a query`, unit: 'µs', value: spreadOf(of('theirs', 'redis')) },
  ];
}
