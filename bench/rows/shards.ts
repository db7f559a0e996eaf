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

/** The cost of a query, summed over all its calls (µs). */
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
  // A prefix of two letters is in a single shard. A substring may be in every shard.
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

/** Measures with `count` entries. Each entry is imported twice. */
async function measureShards(count: number, { quick, say }: RowContext): Promise<Figure[]> {
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
  title: 'One dictionary compared with sixteen shards: measured in advance, not built yet',
  about:
    'The benefit and cost of splitting a dictionary with more queries than one Redis can answer. The first two code points ' +
    'of the folded text choose the shard, so a prefix of two or more letters asks one shard, and a substring asks all. Here ' +
    'all shards are dictionaries of one Redis, and the load process asks each shard that a query needs. The result is the ' +
    'sum of the work for a query, which several Redis processes would share.',
  run: (context) => measureShards(context.quick ? 10_000 : 200_000, context),
};
