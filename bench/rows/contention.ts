import type { PollingTasks } from '../load/polling';
import { figure, takeRounds, type Figure } from '../support/figures';
import { LoadGroup } from '../support/load-process';
import { LockQueue } from '../support/lock-queue';
import { costOf, growthOf, onStage, type FullCost, type Stage } from '../support/stage';
import { sum } from '../support/statistics';
import type { Row, RowContext } from './row';

const PROCESSES = 2;
const CLIENTS = 1000;
/** The lengths of a hold (ms). The goal is for the first length. */
const HOLDS_MS = [10, 1] as const;

type Pollers = LoadGroup<PollingTasks>;

/** The cost of a grant by polling. */
async function polled(stage: Stage, pollers: Pollers, holdMs: number, forMs: number): Promise<FullCost> {
  const { port } = stage.redis;
  await pollers.ask('start', { port, name: 'bench', clients: CLIENTS / PROCESSES, holdMs });
  const grants = async () => sum(await pollers.ask('grants', undefined));
  const cost = await costOf(stage, () => growthOf(grants, forMs));
  await pollers.ask('stop', undefined);
  return cost;
}

async function round(stage: Stage, pollers: Pollers, holdMs: number, forMs: number): Promise<Figure[]> {
  const ours = await LockQueue.during(stage, CLIENTS, (queue) => queue.cost(forMs, holdMs));
  const theirs = await polled(stage, pollers, holdMs, forMs);
  const name = (what: string) => `held for ${holdMs} ms: ${what}`;
  const goal = holdMs === HOLDS_MS[0] ? { most: 1 / 40 } : undefined;
  return [
    figure(name("Redis CPU a grant, by polling's"), '×', ours.redis / theirs.redis, goal),
    figure(name('Redis CPU a grant'), 'µs', ours.redis),
    figure(name('polling: Redis CPU a grant'), 'µs', theirs.redis),
    figure(name('Redis commands a grant, those inside scripts too'), '', ours.commands),
    figure(name('polling: Redis commands a grant'), '', theirs.commands),
    figure(name('grants a second'), '', ours.perSecond),
    figure(name('polling: grants a second'), '', theirs.perSecond),
  ];
}

async function run({ quick, say }: RowContext): Promise<Figure[]> {
  const forMs = quick ? 1000 : 3000;
  const counts = { warmUps: 0, rounds: quick ? 2 : 4 };
  return onStage(async (stage) => {
    const pollers: Pollers = new LoadGroup('polling', PROCESSES);
    try {
      const figures: Figure[] = [];
      for (const holdMs of HOLDS_MS) {
        figures.push(...(await takeRounds(counts, () => round(stage, pollers, holdMs, forMs))));
        say(`held for ${holdMs} ms: ${counts.rounds} rounds of ${forMs / 1000} s each`);
      }
      return figures;
    } finally {
      pollers.end();
    }
  });
}

export const contention: Row = {
  name: 'contention',
  title: '1,000 clients on one lock, compared with polling every millisecond',
  about:
    'A thousand clients repeatedly acquire, hold and release one lock. Holdfast’s clients wait in the queue, in unary ' +
    'AcquireLock calls. The other clients poll as in the chapter: SET NX PX, 1 ms of sleep after each refusal, ' +
    'compare-and-delete at the end, each on its own connection. The result is the CPU time of Redis for each grant. Polling ' +
    'costs more the longer a lock is held. With a thousand clients Redis and the load processes are busy, so clients ' +
    'poll less often than every millisecond, which favours polling here.',
  run,
};
