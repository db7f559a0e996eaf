import { MatchKind } from '../../generated/typescript/holdfast/v1/autocomplete_service';
import type { Question } from '../load/autocomplete-client';
import { library, type Cost, type Imported, type Library } from '../support/library';
import { people, type Person } from '../support/people';
import { inside, typed } from '../support/queries';
import { between, seeded } from '../../test/support/random';
import { shardOf } from '../support/shards';
import { ratios, spreadOf } from '../support/statistics';
import type { Figure, Row, RowContext } from './row';

const SHARDS = 16;
const CLIENTS = 32;
const LONGEST_PREFIX = 8;

/** Per query (µs): all that was asked for it. */
interface Side {
  readonly redis: number;
  readonly script: number;
}

interface Round {
  readonly whole: Side;
  readonly sharded: Side;
}

interface Asked {
  readonly what: string;
  readonly kinds: readonly MatchKind[];
  readonly next: (random: () => number, everybody: readonly Person[]) => string;
}

const ASKED: readonly Asked[] = [
  {
    what: `prefixes of 2 to ${LONGEST_PREFIX} letters`,
    kinds: [MatchKind.MATCH_KIND_PREFIX],
    next: (random, everybody) => {
      const [whole = ''] = typed(random, everybody, LONGEST_PREFIX, LONGEST_PREFIX).slice(-1);
      return whole.slice(0, between(random, 2, LONGEST_PREFIX));
    },
  },
  {
    what: 'substrings of 3 to 6 letters',
    kinds: [MatchKind.MATCH_KIND_CONTAINS],
    next: (random, everybody) => inside(random, everybody, between(random, 3, 6)),
  },
];

function side({ redis, script }: Cost, asked: number): Side {
  return { redis: redis * asked, script: script * asked };
}

async function round(
  place: Library,
  whole: Imported,
  shards: readonly Imported[],
  queries: readonly string[],
  kinds: readonly MatchKind[],
): Promise<Round> {
  const question = ({ name }: Imported, query: string): Question => ({
    dictionary: name,
    query,
    pageSize: 10,
    kinds,
  });
  // All that begin with two letters are in one shard; what is anywhere in a name may be in each.
  const shardsFor = (query: string) =>
    kinds.includes(MatchKind.MATCH_KIND_PREFIX)
      ? shards.filter((_, index) => index === shardOf(query, SHARDS))
      : shards;
  const ofWhole = queries.map((query) => question(whole, query));
  const ofShards = queries.flatMap((query) => shardsFor(query).map((shard) => question(shard, query)));
  return {
    whole: side(await place.cost(ofWhole, CLIENTS), 1),
    sharded: side(await place.cost(ofShards, CLIENTS), ofShards.length / queries.length),
  };
}

function figuresOf(what: string, rounds: readonly Round[]): Figure[] {
  const of = (part: keyof Round, cost: keyof Side) => rounds.map((one) => one[part][cost]);
  const times = (cost: keyof Side) => spreadOf(ratios(of('sharded', cost), of('whole', cost)));
  return [
    { what: `${what}: Redis CPU, in shards by in one`, unit: '×', value: times('redis') },
    { what: `${what}: Redis CPU, in one`, unit: 'µs', value: spreadOf(of('whole', 'redis')) },
    { what: `${what}: Redis CPU, in shards`, unit: 'µs', value: spreadOf(of('sharded', 'redis')) },
    { what: `${what}: of that in the script, in one`, unit: 'µs', value: spreadOf(of('whole', 'script')) },
    {
      what: `${what}: of that in the scripts, in shards`,
      unit: 'µs',
      value: spreadOf(of('sharded', 'script')),
    },
  ];
}

/** With so many entries: the row has fewer than it could, for each is imported twice. */
export async function measureShards(count: number, { quick, say }: RowContext): Promise<Figure[]> {
  const place = await library();
  const everybody = people(count);
  const whole = await place.dictionary({ count, typos: true });
  const shards: Imported[] = [];
  for (let index = 0; index < SHARDS; index += 1) {
    shards.push(await place.dictionary({ count, typos: true, shard: { index, of: SHARDS } }));
  }
  const sizes = shards.map(({ entries }) => entries);
  say(`${count} entries in one, and in ${SHARDS} shards of ${Math.min(...sizes)} to ${Math.max(...sizes)}`);
  const random = seeded(5);
  const figures: Figure[] = [];
  for (const { what, kinds, next } of ASKED) {
    const rounds: Round[] = [];
    for (let turn = 0; turn < (quick ? 3 : 7); turn += 1) {
      const queries = Array.from({ length: quick ? 100 : 300 }, () => next(random, everybody));
      const one = await round(place, whole, shards, queries, kinds);
      if (turn > 0) rounds.push(one);
    }
    figures.push(...figuresOf(what, rounds));
  }
  const most = Math.max(...sizes) / (count / SHARDS);
  figures.push({ what: 'the largest shard by an equal part', unit: '×', value: spreadOf([most]) });
  return figures;
}

export const shards: Row = {
  name: 'shards',
  title: 'One dictionary beside sixteen parts of it: a plan, measured ahead of being made',
  about:
    'What it would buy and cost to split a dictionary that is asked for more than one Redis can answer: by the first ' +
    'two code points of the folded text, so that a prefix of two or more letters asks one part, which may be in another ' +
    'Redis, and what is looked for within texts asks all of them. Here all parts are dictionaries of the same Redis, ' +
    'and the load asks each that has to be asked. What counts is the sum of the work for a query: the parts’ share ' +
    'falls to as many Redis processes as they are spread over.',
  run: (context) => measureShards(context.quick ? 10_000 : 200_000, context),
};
