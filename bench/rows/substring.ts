import { MatchKind } from '../../generated/typescript/holdfast/v1/autocomplete_service';
import { library, type Cost, type Library } from '../support/library';
import { people } from '../support/people';
import { inside } from '../support/queries';
import { between, seeded } from '../../test/support/random';
import { spreadOf } from '../support/statistics';
import { compareWithFetchingAll } from './fetch-all';
import type { Figure, Goal, Row, RowContext } from './row';
import { cellOf, sizeName, sizesFor } from './sizes';

const CLIENTS = 32;
const LENGTHS = [2, 3, 4, 5, 6] as const;
const PAGE = 10;

/** The kind `contains` only, and all kinds, which is the default of Suggest. */
const WAYS = {
  'substrings alone': [MatchKind.MATCH_KIND_CONTAINS],
  'all kinds': [],
} satisfies Record<string, MatchKind[]>;
type Way = keyof typeof WAYS;

/** The costs, one for each length of a query. */
type Round = Record<Way, readonly Cost[]>;

async function round(
  place: Library,
  dictionary: string,
  queriesOf: (length: number) => string[],
): Promise<Round> {
  const found: Record<Way, Cost[]> = { 'substrings alone': [], 'all kinds': [] };
  for (const length of LENGTHS) {
    const queries = queriesOf(length);
    for (const way of Object.keys(WAYS) as Way[]) {
      const questions = queries.map((query) => ({ dictionary, query, pageSize: PAGE, kinds: WAYS[way] }));
      found[way].push(await place.cost(questions, CLIENTS));
    }
  }
  return found;
}

function figuresOf(size: string, way: Way, rounds: readonly Round[], goal: Goal | undefined): Figure[] {
  const mean = (part: keyof Cost) =>
    spreadOf(rounds.map((one) => one[way].reduce((sum, cost) => sum + cost[part], 0) / LENGTHS.length));
  const partial = mean('partial');
  const about = `${size}, ${way}, ${LENGTHS[0]} to ${LENGTHS.at(-1)} letters`;
  const figures: Figure[] = [
    { what: `${about}: time in the script`, unit: 'µs', value: mean('script'), ...(goal && { goal }) },
    { what: `${about}: Redis CPU`, unit: 'µs', value: mean('redis') },
    {
      what: `${about}: answers cut short`,
      unit: '%',
      value: spreadOf(partial.rounds.map((share) => share * 100)),
    },
  ];
  LENGTHS.forEach((length, index) => {
    const cell = cellOf(`In the script, ${way}`, `${size}, ${length} letters`);
    const shown = (column: string, part: keyof Cost, unit: string, times: number): Figure => ({
      what: `${size}, ${way}, ${length} letters: ${column}`,
      unit,
      value: spreadOf(rounds.map((one) => (one[way][index]?.[part] ?? NaN) * times)),
      cell: cell(column),
    });
    figures.push(
      shown('mean', 'script', 'µs', 1),
      shown('p50', 'p50', 'µs', 1),
      shown('p99', 'p99', 'µs', 1),
      shown('answers cut short', 'partial', '%', 100),
    );
  });
  return figures;
}

async function run(context: RowContext): Promise<Figure[]> {
  const { quick, say } = context;
  const place = await library();
  const random = seeded(3);
  const figures: Figure[] = [];
  const sizes = sizesFor(quick);
  for (const count of sizes) {
    const everybody = people(count);
    const { name } = await place.dictionary({ count, typos: true });
    const amount = quick ? 100 : 200;
    const queriesOf = (length: number) =>
      Array.from({ length: amount }, () => inside(random, everybody, length));
    const rounds: Round[] = [];
    for (let turn = 0; turn < (quick ? 3 : 6); turn += 1) {
      const one = await round(place, name, queriesOf);
      if (turn > 0) rounds.push(one);
    }
    const size = sizeName(count);
    for (const way of Object.keys(WAYS) as Way[]) {
      const isGoal = way === 'substrings alone' && count === sizes[1];
      figures.push(...figuresOf(size, way, rounds, isGoal ? { most: 1000 } : undefined));
    }
    say(`${size}: ${rounds.length} rounds of ${amount} queries of each length, ${CLIENTS} in flight`);
  }
  const queriesOf = (count: number, amount: number) =>
    Array.from({ length: amount }, () => inside(random, people(count), between(random, 3, 6)));
  const search = { how: 'substring', kinds: WAYS['substrings alone'], queriesOf } as const;
  return [...figures, ...(await compareWithFetchingAll(place, search, context))];
}

export const substring: Row = {
  name: 'substring',
  title: 'Suggest for letters from within a name',
  about:
    'Suggest for 2 to 6 letters from within an existing name, not from its beginning. The work of a query in Redis is bounded ' +
    'to a millisecond; an answer that reaches the bound is marked `partial`. Times are Redis’s own and include moments in ' +
    'which the system takes the processor from Redis. The yardstick is a client that fetches and searches all names, one ' +
    'query at a time.',
  run,
};
