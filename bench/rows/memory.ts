import { figure, takeRounds, type Figure } from '../support/figures';
import { LoadGroup } from '../support/load-process';
import { LockQueue } from '../support/lock-queue';
import { onStage, warmUp, type Stage } from '../support/stage';
import type { UnaryTasks } from '../load/unary';
import type { Row, RowContext } from './row';

/** Names as users choose them, such as "orders/customer-17042". */
const PREFIX = 'orders/customer';
const IN_FLIGHT = 32;

/** The growth of Redis's memory by held locks, and by the same locks after their release (bytes a lock). */
async function locks({ redis, server }: Stage, count: number): Promise<{ held: number; idle: number }> {
  const group = new LoadGroup<UnaryTasks>('unary', 1);
  try {
    await group.ask('connect', { address: server.listen, label: PREFIX });
    const before = await redis.usedMemory();
    await group.ask('work', { kind: 'acquire', count, inFlight: IN_FLIGHT });
    const held = (await redis.usedMemory()) - before;
    await group.ask('work', { kind: 'release', count, inFlight: IN_FLIGHT });
    const idle = (await redis.usedMemory()) - before;
    return { held: held / count, idle: idle / count };
  } finally {
    group.end();
  }
}

/** The growth of Redis's memory by a waiter for one lock (bytes). */
async function waiter(stage: Stage, count: number): Promise<number> {
  const before = await stage.redis.usedMemory();
  let full = NaN;
  await LockQueue.during(
    stage,
    count,
    async () => Promise.resolve(),
    async () => {
      full = await stage.redis.usedMemory();
    },
  );
  return (full - before) / count;
}

async function run({ quick, say }: RowContext): Promise<Figure[]> {
  const [lockCount, waiters] = quick ? [5000, 1000] : [50_000, 5000];
  say(`${lockCount} locks, and ${waiters} waiters for one lock`);
  return takeRounds({ warmUps: 0, rounds: quick ? 1 : 3 }, () =>
    onStage(async (stage) => {
      await warmUp(stage);
      const { held, idle } = await locks(stage, lockCount);
      return [
        figure('a held lock', 'B', held, { most: 750 }),
        figure('an idle (released) lock', 'B', idle, { most: 400 }),
        figure('a waiter', 'B', await waiter(stage, waiters), { most: 400 }),
      ];
    }),
  );
}

export const memory: Row = {
  name: 'memory',
  title: 'Memory in Redis: held locks, idle locks and waiters',
  about:
    "The growth of Redis's allocated bytes (`used_memory`), divided by the number of locks or waiters. Names are like " +
    '`orders/customer-17042`. Holder ids and metadata are empty, and request ids are made by the server. An idle lock has ' +
    'been held once and released; its state and its tombstone stay in Redis until their retention ends. The waiters are ' +
    'unary AcquireLock calls for one lock.',
  run,
};
