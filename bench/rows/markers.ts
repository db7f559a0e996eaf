import { MatchKind } from '../../generated/typescript/holdfast/v1/autocomplete_service';
import { seeded } from '../../test/support/random';
import type { NamesTasks } from '../load/names';
import { figure, takeRounds, type Figure } from '../support/figures';
import type { Library } from '../support/library';
import { LoadGroup } from '../support/load-process';
import { costOf } from '../support/stage';
import { sum } from '../support/statistics';
import { corpusTitle } from '../words/corpus';
import { typed } from '../words/queries';
import type { RowContext } from './row';
import { corporaFor } from './sizes';

const PROCESSES = 2;
const MANY = 64;
const LONGEST = 8;
const ASCII = /^[\0-\x7f]*$/;

type Group = LoadGroup<NamesTasks>;

/** The cost of a completion with the markers, and its tries in vain. */
async function theirSide(
  { stage }: Library,
  group: Group,
  queries: string[],
  clients: number,
  forMs: number,
) {
  const share = { queries, forMs };
  let [count, retries] = [0, 0];
  const cost = await costOf(stage, async () => {
    const parts =
      clients === 1
        ? [await group.first.ask('markers', { ...share, clients })]
        : await group.ask('markers', { ...share, clients: clients / PROCESSES });
    count = sum(parts.map((part) => part.count));
    retries = sum(parts.map((part) => part.retries));
    return count;
  });
  return { ...cost, retries: retries / count };
}

async function round(
  place: Library,
  group: Group,
  { size, dictionary, queries }: { size: string; dictionary: string; queries: string[] },
  forMs: number,
): Promise<Figure[]> {
  const kinds = [MatchKind.MATCH_KIND_PREFIX];
  const questions = queries.map((query) => ({ dictionary, query, kinds }));
  const figures: Figure[] = [];
  for (const clients of [MANY, 1]) {
    const ours = await place.costFor(questions, clients, forMs);
    const theirs = await theirSide(place, group, queries, clients, forMs);
    const name = (what: string) => `${size}, ${clients} ${clients === 1 ? 'client' : 'clients'}: ${what}`;
    const goal = clients === MANY ? { least: 20 } : undefined;
    figures.push(
      figure(name("queries a second, by the markers'"), '×', ours.perSecond / theirs.perSecond, goal),
      figure(name("Redis CPU a query, by the markers'"), '×', ours.redis / theirs.redis),
      figure(name('queries a second'), '', ours.perSecond),
      figure(name('markers: queries a second'), '', theirs.perSecond),
      figure(name('markers: Redis CPU a query'), 'µs', theirs.redis),
      figure(name('markers: tries in vain a query'), '', theirs.retries),
    );
  }
  return figures;
}

/**
 * Compares Suggest with the completion of docs/design/chapter.md, rows 6 to 9, which puts two markers around the names
 * with the prefix. The queries are ASCII, because a marker ends behind the letter z.
 */
export async function compareWithMarkers(place: Library, context: RowContext): Promise<Figure[]> {
  const { quick, say } = context;
  const [corpus] = corporaFor(context);
  const size = corpusTitle(corpus);
  const texts = (await place.texts(corpus)).filter((text) => ASCII.test(text));
  const { name: dictionary } = await place.dictionary(corpus);
  const random = seeded(2);
  const forMs = quick ? 500 : 1500;
  const group: Group = new LoadGroup('names', PROCESSES);
  try {
    await group.ask('connect', { port: place.stage.redis.port, clients: MANY / PROCESSES });
    await group.first.ask('fill', { corpus });
    const counts = { warmUps: 0, rounds: quick ? 2 : 5 };
    const figures = await takeRounds(counts, () => {
      const queries = typed(random, texts, 800, LONGEST);
      return round(place, group, { size, dictionary, queries }, forMs);
    });
    await group.first.ask('drop', undefined);
    say(`${size}: ${counts.rounds} rounds of ${forMs / 1000} s, compared with the markers`);
    return figures;
  } finally {
    group.end();
  }
}
