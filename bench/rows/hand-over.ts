import { figure, takeRounds, type Figure } from '../support/figures';
import { LockQueue } from '../support/lock-queue';
import { onStage } from '../support/stage';
import { handOverTimes, timesOf } from '../support/statistics';
import type { Row, RowContext } from './row';

const QUEUES = [10, 100, 1000] as const;
/** Long enough for the machine to become idle, short enough for many hand-overs. */
const PAUSE_MS = 2;

async function round(queue: LockQueue, waiters: number, forMs: number): Promise<Figure[]> {
  const { grants, uncontended } = await queue.grants(PAUSE_MS, forMs);
  const { p50, p99 } = timesOf(handOverTimes(grants));
  const free = timesOf(uncontended);
  const { redis, scripts, commands } = await queue.cost(forMs / 2);
  const name = (what: string) => `${waiters} waiters: ${what}`;
  const byFree = "release to the next one's grant, p50, by an uncontended acquire's";
  return [
    figure(name(byFree), '×', p50 / free.p50, { most: 1.2 }),
    figure(name("p99, by an uncontended acquire's"), '×', p99 / free.p99),
    figure(name('p50'), 'ms', p50),
    figure(name('p99'), 'ms', p99),
    figure(name('uncontended acquire, p50'), 'ms', free.p50),
    figure(name("Redis CPU a hand-over, with the next one's queueing"), 'µs', redis, { most: 120 }),
    figure(name('scripts a hand-over'), '', scripts),
    figure(name('Redis commands a hand-over, those inside scripts too'), '', commands),
  ];
}

async function run({ quick, say }: RowContext): Promise<Figure[]> {
  const forMs = quick ? 1000 : 3000;
  const counts = { warmUps: 0, rounds: quick ? 3 : 5 };
  return onStage(async (stage) => {
    const figures: Figure[] = [];
    for (const waiters of QUEUES) {
      const measured = await LockQueue.during(stage, waiters, async (queue) => {
        await queue.cost(forMs / 2); // Warms up server and Redis.
        return takeRounds(counts, () => round(queue, waiters, forMs));
      });
      figures.push(...measured);
      say(`${waiters} waiters: ${counts.rounds} rounds of ${forMs / 1000} s`);
    }
    return figures;
  });
}

export const handOver: Row = {
  name: 'hand-over',
  title: 'Hand-over: from a release to the next waiter’s grant',
  about:
    'Waiters in unary AcquireLock calls on one lock, over four connections from two processes. A client that gets the lock ' +
    'queues again before it releases, so the queue keeps its length. The time runs from just before ReleaseLock is sent to ' +
    'the arrival of the next grant, on the monotonic clock of the machine. Between two hand-overs the same client acquires a ' +
    'free lock, as the yardstick, with pauses of 2 ms. All waiters have the same server, so the release grants directly. ' +
    'Redis’s CPU, scripts and commands are counted without pauses; they include the new place in the queue and the touch of ' +
    'each second, and must not grow with the queue.',
  run,
};
