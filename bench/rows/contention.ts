import { setTimeout as sleep } from 'node:timers/promises';
import { LockClient } from '../../test/support/clients/lock-client';
import type { ContentionTasks } from '../load/contention';
import { cpuMs } from '../support/cpu';
import { LoadGroup } from '../support/load-process';
import { onStage, type Stage } from '../support/stage';
import { ratios } from '../support/statistics';
import { figure } from './figure';
import type { Figure, Row, RowContext } from './row';

const PROCESSES = 2;
const CLIENTS = 1000;
/** The lengths of a hold (ms). The goal is for the first length. */
const HOLDS_MS = [10, 1] as const;

/** The costs of a grant. */
interface Side {
  readonly redisMicros: number;
  readonly commands: number;
  readonly grantsPerSecond: number;
}

type Group = LoadGroup<ContentionTasks>;

async function side(stage: Stage, group: Group, forMs: number, start: () => Promise<unknown>): Promise<Side> {
  const { redis } = stage;
  const read = async () => ({
    cpu: cpuMs(redis.pid),
    commands: (await redis.commandCounts()).all,
    grants: (await group.ask('grants', undefined)).reduce((sum, one) => sum + one, 0),
    at: performance.now(),
  });
  await start();
  const before = await read();
  await sleep(forMs);
  const after = await read();
  await group.ask('stop', undefined);
  const grants = after.grants - before.grants;
  return {
    redisMicros: ((after.cpu - before.cpu) * 1000) / grants,
    commands: (after.commands - before.commands) / grants,
    grantsPerSecond: (grants * 1000) / (after.at - before.at),
  };
}

function figuresOf(
  holdMs: number,
  ours: readonly Side[],
  theirs: readonly Side[],
  isGoal: boolean,
): Figure[] {
  const of = (sides: readonly Side[], part: keyof Side) => sides.map((one) => one[part]);
  const row = (what: string) => `held for ${holdMs} ms: ${what}`;
  const byPolling = ratios(of(ours, 'redisMicros'), of(theirs, 'redisMicros'));
  return [
    figure(row("Redis CPU a grant, by polling's"), '×', byPolling, isGoal ? { most: 1 / 20 } : undefined),
    figure(row('Redis CPU a grant'), 'µs', of(ours, 'redisMicros')),
    figure(row('polling: Redis CPU a grant'), 'µs', of(theirs, 'redisMicros')),
    figure(row('Redis commands a grant, those inside scripts too'), '', of(ours, 'commands')),
    figure(row('polling: Redis commands a grant'), '', of(theirs, 'commands')),
    figure(row('grants a second'), '', of(ours, 'grantsPerSecond')),
    figure(row('polling: grants a second'), '', of(theirs, 'grantsPerSecond')),
  ];
}

async function withHold(stage: Stage, group: Group, holdMs: number, { quick, say }: RowContext) {
  const { redis, server } = stage;
  const { port } = redis;
  const forMs = quick ? 1000 : 3000;
  const contest = { name: 'bench', clients: CLIENTS / PROCESSES, holdMs };
  const ours: Side[] = [];
  const theirs: Side[] = [];
  const watcher = new LockClient(server.listen);
  for (let count = quick ? 2 : 4; count > 0; count -= 1) {
    const { listen: address } = server;
    const queueUp = async () => {
      await group.ask('queue', { address, ...contest });
      // A client holds the lock, and another client may be about to join the queue again.
      while ((await watcher.get(contest.name)).waiterCount < CLIENTS - 2) await sleep(20);
    };
    ours.push(await side(stage, group, forMs, queueUp));
    theirs.push(await side(stage, group, forMs, () => group.ask('poll', { port, ...contest })));
  }
  watcher.close();
  say(`held for ${holdMs} ms: ${ours.length} rounds of ${forMs / 1000} s each`);
  return figuresOf(holdMs, ours, theirs, holdMs === HOLDS_MS[0]);
}

async function run(context: RowContext): Promise<Figure[]> {
  return onStage(async (stage) => {
    const group: Group = new LoadGroup<ContentionTasks>('contention', PROCESSES);
    try {
      const figures: Figure[] = [];
      for (const holdMs of HOLDS_MS) figures.push(...(await withHold(stage, group, holdMs, context)));
      return figures;
    } finally {
      group.end();
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
