import { setTimeout as sleep } from 'node:timers/promises';
import { LockClient } from '../../test/support/clients/lock-client';
import { releaseHeld } from '../load/release-held';
import type { Grant, HandOverTasks } from '../load/hand-over';
import { handOverTimes } from '../support/hand-over-times';
import { LoadGroup } from '../support/load-process';
import { takeRounds } from '../support/rounds';
import { onStage, type Stage } from '../support/stage';
import { quantile, ratios } from '../support/statistics';
import { figure } from './figure';
import type { Figure, Row, RowContext } from './row';

const PROCESSES = 2;
/** The server allows 500 waiting unary calls on a connection. */
const CONNECTIONS = 2;
const QUEUES = [10, 100, 1000] as const;
/** Long enough for the machine to become idle, short enough for many hand-overs. */
const PAUSE_MS = 2;

interface Round {
  readonly p50: number;
  readonly p99: number;
  readonly uncontendedP50: number;
  readonly uncontendedP99: number;
  /** The scripts and commands of a hand-over, without pauses. */
  readonly scripts: number;
  readonly commands: number;
}

/** The times from each release to the next grant, in the order of fencing tokens (ms). */
function handOvers(grants: readonly Grant[]): number[] {
  const inOrder = [...grants].sort((a, b) => (a.token < b.token ? -1 : 1));
  return handOverTimes(inOrder);
}

async function latencies(group: LoadGroup<HandOverTasks>, forMs: number) {
  await group.ask('pace', { pauseMs: PAUSE_MS, yardstick: true });
  await sleep(200);
  await group.ask('take', undefined);
  await sleep(forMs);
  const taken = await group.ask('take', undefined);
  const times = handOvers(taken.flatMap(({ grants }) => grants));
  const free = taken.flatMap(({ uncontended }) => uncontended);
  return {
    p50: quantile(times, 0.5),
    p99: quantile(times, 0.99),
    uncontendedP50: quantile(free, 0.5),
    uncontendedP99: quantile(free, 0.99),
  };
}

async function commands({ redis }: Stage, group: LoadGroup<HandOverTasks>, forMs: number) {
  await group.ask('pace', { pauseMs: 0, yardstick: false });
  await sleep(200);
  const read = async () => {
    const [counts, ...grants] = await Promise.all([redis.commandCounts(), group.ask('count', undefined)]);
    return { counts, grants: grants.flat().reduce((sum, one) => sum + one, 0) };
  };
  const before = await read();
  await sleep(forMs);
  const after = await read();
  const handOverCount = after.grants - before.grants;
  return {
    scripts: (after.counts.scripts - before.counts.scripts) / handOverCount,
    commands: (after.counts.all - before.counts.all) / handOverCount,
  };
}

async function withQueue(stage: Stage, waiters: number, { quick, say }: RowContext): Promise<Round[]> {
  const group = new LoadGroup<HandOverTasks>('hand-over', PROCESSES);
  const watcher = new LockClient(stage.server.listen);
  try {
    const { listen: address } = stage.server;
    await group.askEach('connect', (index) => ({
      address,
      label: `bench-${index}`,
      connections: CONNECTIONS,
    }));
    const name = `bench-${waiters}`;
    const { leaseId } = await watcher.acquire({ name, ttlMs: 60_000, waitMs: 0 });
    await group.ask('join', { name, waiters: waiters / PROCESSES });
    while ((await watcher.get(name)).waiterCount < waiters) await sleep(50);
    await releaseHeld(watcher, leaseId);
    const forMs = quick ? 1000 : 3000;
    await commands(stage, group, forMs / 2); // This round warms up server and Redis.
    const rounds = await takeRounds({ warmUps: 0, rounds: quick ? 3 : 5 }, async () => ({
      ...(await latencies(group, forMs)),
      ...(await commands(stage, group, forMs / 2)),
    }));
    await group.ask('leave', undefined);
    say(`${waiters} waiters: ${rounds.length} rounds of ${forMs / 1000} s`);
    return rounds;
  } finally {
    watcher.close();
    group.end();
  }
}

function figuresOf(waiters: number, rounds: readonly Round[]): Figure[] {
  const of = (part: keyof Round) => rounds.map((one) => one[part]);
  const row = (what: string) => `${waiters} waiters: ${what}`;
  const byFree = (part: 'p50' | 'p99') =>
    ratios(of(part), of(part === 'p50' ? 'uncontendedP50' : 'uncontendedP99'));
  return [
    figure(row("release to the next one's grant, p50, by an uncontended acquire's"), '×', byFree('p50'), {
      most: 1.5,
    }),
    figure(row("p99, by an uncontended acquire's"), '×', byFree('p99')),
    figure(row('p50'), 'ms', of('p50')),
    figure(row('p99'), 'ms', of('p99')),
    figure(row('uncontended acquire, p50'), 'ms', of('uncontendedP50')),
    figure(row('scripts a hand-over'), '', of('scripts')),
    figure(row('Redis commands a hand-over, those inside scripts too'), '', of('commands')),
  ];
}

async function run(context: RowContext): Promise<Figure[]> {
  return onStage(async (stage) => {
    const figures: Figure[] = [];
    for (const waiters of QUEUES)
      figures.push(...figuresOf(waiters, await withQueue(stage, waiters, context)));
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
    'free lock, as the yardstick, with pauses of 2 ms. A hand-over has two steps (release and offer, then claim), an acquire ' +
    'has one. Commands are counted without pauses; they include the new place in the queue and the touch of each second, ' +
    'and must not grow with the queue.',
  run,
};
