import { MatchKind } from '../../generated/typescript/holdfast/v1/autocomplete_service';
import { library, type Cost, type Library } from '../support/library';
import { entryIdOf, people, type Person } from '../support/people';
import { misspelt } from '../support/queries';
import { seeded } from '../../test/support/random';
import { RankingModel, recallOf } from '../support/ranking-model';
import { spreadOf } from '../support/statistics';
import type { Figure, Row, RowContext } from './row';
import { cellOf, sizeName, sizesFor } from './sizes';

const CLIENTS = 32;
const PAGE = 10;
/** The largest page size. */
const MOST = 100;

interface TypoGroup {
  readonly typos: number;
  readonly length: number;
}

const GROUPS: readonly TypoGroup[] = [
  ...[5, 6, 7, 8, 9, 10].map((length) => ({ typos: 1, length })),
  ...[8, 9, 10, 11, 12].map((length) => ({ typos: 2, length })),
];

/** The results of one group of queries: mean shares (0 to 1), and the cost by round. */
interface Measured extends TypoGroup {
  /** The share of the right first ten entries that were answered, and the share at the right position. */
  readonly found: number;
  readonly placed: number;
  /** The same as `found`, among the answers that were not partial. */
  readonly foundInWhole: readonly number[];
  /** The share of all typo matches on a page of a hundred entries. More than a hundred matches count as a hundred. */
  readonly all: number;
  readonly costs: readonly Cost[];
}

interface Amounts {
  readonly judged: number;
  readonly asked: number;
  readonly rounds: number;
}

async function measure(
  place: Library,
  dictionary: string,
  group: TypoGroup,
  next: () => string,
  model: RankingModel,
  { judged, asked, rounds }: Amounts,
): Promise<Measured> {
  const question = (pageSize: number, kinds: MatchKind[]) => (query: string) => ({
    dictionary,
    query,
    pageSize,
    kinds,
  });
  const costs: Cost[] = [];
  for (let turn = 0; turn <= rounds; turn += 1) {
    const cost = await place.cost(Array.from({ length: asked }, next).map(question(PAGE, [])), CLIENTS);
    if (turn > 0) costs.push(cost);
  }
  const queries = Array.from({ length: judged }, next);
  const typos = [MatchKind.MATCH_KIND_TYPO];
  const { first } = place.group;
  const pages = await first.ask('answers', { questions: queries.map(question(PAGE, [])) });
  const longPages = await first.ask('answers', { questions: queries.map(question(MOST, typos)) });
  const right = queries.map((query) => model.answer(query));
  const ten = right.map(({ ranked }, i) =>
    recallOf(ranked.slice(0, PAGE).map(entryIdOf), pages[i]?.entryIds ?? []),
  );
  const all = right.map(({ typos: matches }, i) => {
    const known = new Set(matches.map(entryIdOf));
    const found = (longPages[i]?.entryIds ?? []).filter((id) => known.has(id)).length;
    return known.size === 0 ? 1 : found / Math.min(MOST, known.size);
  });
  return {
    ...group,
    found: mean(ten.map(({ found }) => found)),
    foundInWhole: ten.filter((_, i) => pages[i]?.partial === false).map(({ found }) => found),
    placed: mean(ten.map(({ placed }) => placed)),
    all: mean(all),
    costs,
  };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function groupName({ typos, length }: TypoGroup): string {
  return `${length} letters, ${typos} ${typos === 1 ? 'typo' : 'typos'}`;
}

function figuresOf(size: string, groups: readonly Measured[]): Figure[] {
  const over = (of: (group: Measured) => number) => spreadOf([mean(groups.map(of))]);
  const rounds = groups[0]?.costs.map((_, round) => groups.map(({ costs }) => costs[round] as Cost)) ?? [];
  const cost = (part: keyof Cost) => spreadOf(rounds.map((costs) => mean(costs.map((one) => one[part]))));
  const whole = groups.flatMap(({ foundInWhole }) => foundInWhole);
  const figures: Figure[] = [
    { what: `${size}: time in the script`, unit: 'µs', value: cost('script'), goal: { most: 1000 } },
    { what: `${size}: Redis CPU`, unit: 'µs', value: cost('redis') },
    {
      what: `${size}: found of the first ten`,
      unit: '',
      value: over(({ found }) => found),
      goal: { least: 0.9 },
    },
    ...(whole.length === 0
      ? []
      : [
          {
            what: `${size}: found of the first ten, in answers that were not cut short`,
            unit: '',
            value: spreadOf([mean(whole)]),
          },
        ]),
    { what: `${size}: at its place of the first ten`, unit: '', value: over(({ placed }) => placed) },
    { what: `${size}: found of all typos, or of a page of ${MOST}`, unit: '', value: over(({ all }) => all) },
  ];
  for (const group of groups) {
    const line = `${size}, ${groupName(group)}`;
    const cell = cellOf('Found, and time in the script', line);
    const shown = (column: string, unit: string, rounds: readonly number[]): Figure => ({
      what: `${line}: ${column}`,
      unit,
      value: spreadOf(rounds),
      cell: cell(column),
    });
    const of = (part: keyof Cost) => group.costs.map((one) => one[part]);
    figures.push(
      shown('of the first ten', '', [group.found]),
      shown('at its place', '', [group.placed]),
      shown('of all', '', [group.all]),
      shown('p50', 'µs', of('p50')),
      shown('p99', 'µs', of('p99')),
      shown(
        'cut short',
        '%',
        of('partial').map((share) => share * 100),
      ),
    );
  }
  return figures;
}

async function ofSize(
  place: Library,
  count: number,
  everybody: readonly Person[],
  { quick, say }: RowContext,
) {
  const { name } = await place.dictionary({ count, typos: true });
  const model = new RankingModel(everybody);
  const random = seeded(4);
  const amounts = quick ? { judged: 20, asked: 100, rounds: 2 } : { judged: 30, asked: 200, rounds: 5 };
  const groups: Measured[] = [];
  for (const group of GROUPS) {
    const next = () => misspelt(random, everybody, group.length, group.typos);
    groups.push(await measure(place, name, group, next, model, amounts));
  }
  const { judged, asked, rounds } = amounts;
  say(`${sizeName(count)}: of each length ${judged} queries judged, and ${rounds} rounds of ${asked} timed`);
  return figuresOf(sizeName(count), groups);
}

async function run(context: RowContext): Promise<Figure[]> {
  const place = await library();
  const figures: Figure[] = [];
  for (const count of sizesFor(context.quick).slice(1)) {
    figures.push(...(await ofSize(place, count, people(count), context)));
  }
  return figures;
}

export const typo: Row = {
  name: 'typo',
  title: 'Suggest for the first letters of a name with typos',
  about:
    'Suggest of all kinds for the first letters of existing names with one or two random typos: an additional letter, a ' +
    'missing letter, a wrong letter, or two swapped letters, never the first letter. The answers are compared with a model ' +
    'that searches all names without a bound and without an index: which share of the right first ten entries was answered, ' +
    'which share at the right position, and which share of all typo matches a page of a hundred has. Times are Redis’s own ' +
    'and include moments in which the system takes the processor from Redis.',
  run,
};
