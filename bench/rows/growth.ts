import { barChart, panelOf } from '../support/bar-chart';
import { tableLine, takeRounds, type Figure, type FigureSummary } from '../support/figures';
import { LockQueue } from '../support/lock-queue';
import type { FullCost } from '../support/stage';
import { UnarySide } from '../support/unary-side';
import type { Row, RowContext } from './row';

/** Few enough calls for the smallest number of names. */
const IN_FLIGHT = 8;
/** For work that is not measured. */
const FILLING = 32;

interface Lengths {
  readonly rounds: number;
  readonly pairs: number;
  readonly queueMs: number;
}

/** Something that grows: a table, with a line for each number. */
interface Growth {
  readonly table: string;
  readonly numbers: readonly number[];
  /** Measures with this number of holders, waiters or names. The result is the cost of a pair of calls. */
  readonly measured: (
    side: UnarySide,
    count: number,
    lengths: Lengths,
    rounds: (cost: () => Promise<FullCost>) => Promise<Figure[]>,
  ) => Promise<Figure[]>;
}

const GROWTHS: readonly Growth[] = [
  {
    table: 'acquire + release of a permit, by holders of the semaphore',
    numbers: [1, 10, 100, 1000, 10_000],
    measured: async (side, count, { pairs }, rounds) => {
      const name = `holders-${count}`;
      await side.all('holdPermits', count, FILLING, () => ({ name }));
      const work = () => side.all('sharedPermitPairs', pairs, IN_FLIGHT, () => ({ name }));
      return rounds(() => side.costOf(pairs, work));
    },
  },
  {
    table: 'hand-over and the next place in the queue, by waiters for the lock',
    numbers: [1, 10, 100, 1000, 10_000],
    measured: ({ stage }, count, { queueMs }, rounds) =>
      LockQueue.during(stage, count, (queue) => rounds(() => queue.cost(queueMs))),
  },
  {
    table: 'release + acquire of a lock, by held locks',
    numbers: [10, 100, 1000, 10_000, 100_000],
    measured: async (side, count, { pairs }, rounds) => {
      await side.work('acquire', count, FILLING);
      const work = () =>
        side.all('reacquire', pairs, IN_FLIGHT, (index) => ({ locks: side.share(index, count) }));
      const figures = await rounds(() => side.costOf(pairs, work));
      await side.work('release', count, FILLING);
      return figures;
    },
  },
];

/** The columns of the plot. */
const CPU = ['server CPU', 'Redis CPU'] as const;

async function run({ quick, say }: RowContext): Promise<Figure[]> {
  const lengths = quick ? { rounds: 2, pairs: 400, queueMs: 500 } : { rounds: 5, pairs: 2000, queueMs: 2000 };
  return UnarySide.during(async (side) => {
    await side.work('pairs', 4 * lengths.pairs, FILLING); // Warms up server and Redis.
    const figures: Figure[] = [];
    for (const { table, numbers, measured } of GROWTHS) {
      for (const count of quick ? numbers.slice(0, -1) : numbers) {
        const rounds = (cost: () => Promise<FullCost>) =>
          takeRounds({ warmUps: 1, rounds: lengths.rounds }, async () => {
            const { server, redis, inScripts, commands } = await cost();
            return tableLine(table, count.toLocaleString('en'), {
              [CPU[0]]: [server, 'µs'],
              [CPU[1]]: [redis, 'µs'],
              'of that in scripts': [inScripts, 'µs'],
              'Redis commands': commands,
            });
          });
        figures.push(...(await measured(side, count, lengths, rounds)));
      }
      say(table);
    }
    return figures;
  });
}

function picture(figures: readonly FigureSummary[]): string {
  return barChart({
    title: 'Cost by the number of holders, waiters and held locks',
    subtitle: 'CPU of two calls: acquire and release, or a hand-over with the next acquire (µs)',
    series: CPU,
    panels: GROWTHS.map(({ table }) => panelOf(figures, table, CPU, 'CPU (µs)')),
  });
}

export const growth: Row = {
  name: 'growth',
  title: 'Cost of locks and semaphores by the number of holders, waiters and names',
  about:
    'The cost should be flat. Holders: an acquire and a release of one permit of a semaphore that already has that many ' +
    'holders. Waiters: a hand-over of one lock with the acquire that keeps the number of waiters, as in `hand-over`, with ' +
    'the touch of each second. Names: a release and an acquire of one of that many held locks, in turn. CPU is measured ' +
    `with ${IN_FLIGHT} calls in flight for holders and names, and without pauses for waiters.`,
  picture,
  run,
};
