import { MatchKind } from '../../generated/typescript/holdfast/v1/autocomplete_service';
import type { Question } from '../load/autocomplete-client';
import { library, type Cost, type Library } from '../support/library';
import { people } from '../support/people';
import { typed } from '../support/queries';
import { seeded } from '../../test/support/random';
import { ratios, spreadOf } from '../support/statistics';
import { compareWithFetchingAll } from './fetch-all';
import { compareWithMarkers } from './markers';
import type { Figure, Row, RowContext } from './row';
import { cellOf, sizeName, sizesFor } from './sizes';

const CLIENTS = 32;
const LONGEST = 8;
const PAGE = 10;

/** Prefixes only, as the chapter finds, and all kinds, which is the default of Suggest. */
const WAYS = {
  'prefixes alone': [MatchKind.MATCH_KIND_PREFIX],
  'all kinds': [],
} satisfies Record<string, MatchKind[]>;
type Way = keyof typeof WAYS;

type Round = Record<Way, Cost> & { readonly empty: number };

async function round(place: Library, dictionary: string, queries: readonly string[]): Promise<Round> {
  const questions = (way: Way): Question[] =>
    queries.map((query) => ({ dictionary, query, pageSize: PAGE, kinds: WAYS[way] }));
  const before = await place.emptyCost(queries.length, CLIENTS);
  const alone = await place.cost(questions('prefixes alone'), CLIENTS);
  const all = await place.cost(questions('all kinds'), CLIENTS);
  const after = await place.emptyCost(queries.length, CLIENTS);
  return { 'prefixes alone': alone, 'all kinds': all, empty: (before + after) / 2 };
}

function figuresOf(size: string, way: Way, rounds: readonly Round[]): Figure[] {
  const of = (part: keyof Cost) => rounds.map((one) => one[way][part]);
  const byEmpty = spreadOf(
    ratios(
      of('server'),
      rounds.map(({ empty }) => empty),
    ),
  );
  const isGoal = way === 'prefixes alone';
  const cell = cellOf(`Redis, a query, ${way}`, size);
  const about = `${size}, ${way}`;
  const shown = (column: string, part: keyof Cost, unit = 'µs', times = 1): Figure => ({
    what: `${about}: ${column}`,
    unit,
    value: spreadOf(of(part).map((value) => value * times)),
    cell: cell(column),
  });
  return [
    {
      what: `${about}: server CPU by an empty call's`,
      unit: '×',
      value: byEmpty,
      ...(isGoal && { goal: { most: 1.6 } }),
    },
    {
      what: `${about}: time in the script`,
      unit: 'µs',
      value: spreadOf(of('script')),
      ...(isGoal && { goal: { most: 60 } }),
    },
    shown('CPU', 'redis'),
    shown('script p50', 'p50'),
    shown('script p99', 'p99'),
    shown('answers cut short', 'partial', '%', 100),
  ];
}

/** The time for each length of a query. A single letter has many matches, and a long query has few matches. */
async function byLength(
  place: Library,
  dictionary: string,
  next: () => readonly string[],
  size: string,
  rounds: number,
): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (let length = 1; length <= LONGEST; length += 1) {
    const line = `${size}, ${length} ${length === 1 ? 'letter' : 'letters'}`;
    for (const way of Object.keys(WAYS) as Way[]) {
      const found: number[] = [];
      for (let turn = 0; turn < rounds; turn += 1) {
        const queries = next().filter((query) => query.length === length);
        const kinds = WAYS[way];
        const questions = queries.map((query) => ({ dictionary, query, pageSize: PAGE, kinds }));
        found.push((await place.cost(questions, CLIENTS)).p50);
      }
      const cell = cellOf('In the script, p50', line)(way);
      figures.push({ what: `${line}, ${way}: in the script, p50`, unit: 'µs', value: spreadOf(found), cell });
    }
  }
  return figures;
}

async function run(context: RowContext): Promise<Figure[]> {
  const { quick, say } = context;
  const place = await library();
  const random = seeded(1);
  const figures: Figure[] = [];
  for (const count of sizesFor(quick)) {
    const everybody = people(count);
    const { name } = await place.dictionary({ count, typos: true });
    const next = () => typed(random, everybody, quick ? 400 : 1600, LONGEST);
    for (let warmUp = 0; warmUp < 3; warmUp += 1) await round(place, name, next());
    const rounds: Round[] = [];
    for (let turn = quick ? 3 : 9; turn > 0; turn -= 1) rounds.push(await round(place, name, next()));
    const size = sizeName(count);
    for (const way of Object.keys(WAYS) as Way[]) figures.push(...figuresOf(size, way, rounds));
    figures.push(...(await byLength(place, name, next, size, quick ? 2 : 3)));
    const questions = next().map((query) => ({ dictionary: name, query, pageSize: PAGE, kinds: [] }));
    const trips = spreadOf([await place.roundTrips(questions)]);
    figures.push({
      what: `${size}, all kinds: round trips a query`,
      unit: '',
      value: trips,
      goal: { most: 1 },
    });
    say(`${size}: ${rounds.length} rounds of ${next().length} queries of each kind, ${CLIENTS} in flight`);
  }
  const queriesOf = (count: number, amount: number) => typed(random, people(count), amount, LONGEST);
  const search = { how: 'prefix', kinds: WAYS['prefixes alone'], queriesOf } as const;
  figures.push(...(await compareWithMarkers(place, context)));
  return [...figures, ...(await compareWithFetchingAll(place, search, context))];
}

export const prefix: Row = {
  name: 'prefix',
  title: 'Suggest for the first letters of a name',
  about:
    'Suggest for prefixes of 1 to 8 letters of existing names, typed letter by letter. Server CPU is divided by the CPU of an ' +
    'empty unary call, as in `unary`. Times in the script are Redis’s own and include moments in which the system takes the ' +
    'processor from Redis. Two yardsticks: the chapter’s completion, which puts two markers into a sorted set of the same ' +
    'names, reads the names between them, and starts again if another client has written; and a client that fetches and ' +
    'searches all names.',
  run,
};
