import { MatchKind } from '../../generated/typescript/holdfast/v1/autocomplete_service';
import type { NamesTasks } from '../load/names';
import { cpuDuring } from '../support/cpu';
import { LoadGroup } from '../support/load-process';
import type { Library } from '../support/library';
import { takeRounds } from '../support/rounds';
import { seeded } from '../../test/support/random';
import { ratios } from '../support/statistics';
import { corpusTitle } from '../words/corpus';
import { typed } from '../words/queries';
import { figure } from './figure';
import type { Figure, RowContext } from './row';
import { corporaFor } from './sizes';

const PROCESSES = 2;
const MANY = 64;
const LONGEST = 8;
const ASCII = /^[\0-\x7f]*$/;

/** The queries per second, and the CPU of Redis for a query (µs). */
interface Side {
  readonly perSecond: number;
  readonly redis: number;
  readonly retries: number;
}

interface Round {
  readonly ours: Record<number, Side>;
  readonly theirs: Record<number, Side>;
}

type Group = LoadGroup<NamesTasks>;

async function theirSide(
  place: Library,
  group: Group,
  queries: string[],
  clients: number,
  forMs: number,
): Promise<Side> {
  const share = { queries, forMs };
  const { result: counts, spentMs } = await cpuDuring([place.stage.redis.pid], async () =>
    clients === 1
      ? [await group.first.ask('markers', { ...share, clients })]
      : group.ask('markers', { ...share, clients: clients / PROCESSES }),
  );
  const count = counts.reduce((sum, one) => sum + one.count, 0);
  const retries = counts.reduce((sum, one) => sum + one.retries, 0);
  return {
    perSecond: (count * 1000) / Math.max(...counts.map(({ ms }) => ms)),
    redis: ((spentMs[0] ?? NaN) * 1000) / count,
    retries: retries / count,
  };
}

async function ourSide(
  place: Library,
  dictionary: string,
  queries: string[],
  clients: number,
  forMs: number,
): Promise<Side> {
  const kinds = [MatchKind.MATCH_KIND_PREFIX];
  const questions = queries.map((query) => ({ dictionary, query, kinds }));
  const ask = () => place.askFor(questions, clients, forMs);
  const { result, spentMs } = await cpuDuring([place.stage.redis.pid], ask);
  const { count, ms } = result;
  return { perSecond: (count * 1000) / ms, redis: ((spentMs[0] ?? NaN) * 1000) / count, retries: 0 };
}

function figuresOf(size: string, rounds: readonly Round[]): Figure[] {
  const of = (side: keyof Round, clients: number, part: keyof Side) =>
    rounds.map((one) => one[side][clients]?.[part] ?? NaN);
  const figures: Figure[] = [];
  for (const clients of [MANY, 1]) {
    const about = `${size}, ${clients} ${clients === 1 ? 'client' : 'clients'}`;
    const times = ratios(of('ours', clients, 'perSecond'), of('theirs', clients, 'perSecond'));
    const work = ratios(of('ours', clients, 'redis'), of('theirs', clients, 'redis'));
    const goal = clients === MANY ? { least: 20 } : undefined;
    figures.push(
      figure(`${about}: queries a second, by the markers'`, '×', times, goal),
      figure(`${about}: Redis CPU a query, by the markers'`, '×', work),
      figure(`${about}: queries a second`, '', of('ours', clients, 'perSecond')),
      figure(`${about}: markers: queries a second`, '', of('theirs', clients, 'perSecond')),
      figure(`${about}: markers: Redis CPU a query`, 'µs', of('theirs', clients, 'redis')),
      figure(`${about}: markers: tries in vain a query`, '', of('theirs', clients, 'retries')),
    );
  }
  return figures;
}

/**
 * Compares Suggest with the completion of docs/design/chapter.md, rows 6 to 9, which puts two markers around the names
 * with the prefix. The queries are ASCII, because a marker ends behind the letter z.
 */
export async function compareWithMarkers(place: Library, { quick, say }: RowContext): Promise<Figure[]> {
  const [corpus] = corporaFor(quick);
  const title = corpusTitle(corpus);
  const texts = (await place.texts(corpus)).filter((text) => ASCII.test(text));
  const { name } = await place.dictionary(corpus);
  const random = seeded(2);
  const forMs = quick ? 500 : 1500;
  const group: Group = new LoadGroup<NamesTasks>('names', PROCESSES);
  try {
    await group.ask('connect', { port: place.stage.redis.port, clients: MANY / PROCESSES });
    await group.first.ask('fill', { corpus });
    const rounds = await takeRounds({ warmUps: 0, rounds: quick ? 2 : 5 }, async () => {
      const queries = typed(random, texts, 800, LONGEST);
      const round: Round = { ours: {}, theirs: {} };
      for (const clients of [1, MANY]) {
        round.ours[clients] = await ourSide(place, name, queries, clients, forMs);
        round.theirs[clients] = await theirSide(place, group, queries, clients, forMs);
      }
      return round;
    });
    await group.first.ask('drop', undefined);
    say(`${title}: ${rounds.length} rounds of ${forMs / 1000} s, compared with the markers`);
    return figuresOf(title, rounds);
  } finally {
    group.end();
  }
}
