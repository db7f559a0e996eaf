import { setTimeout as sleep } from 'node:timers/promises';
import { stores } from '../locks/stores';
import type { EtcdTasks } from '../load/etcd';
import type { SessionTasks, SessionWork } from '../load/session';
import { cpuDuring } from '../support/cpu';
import { figure, takeRounds, type Figure } from '../support/figures';
import { LoadGroup } from '../support/load-process';
import { costOf, growthOf, memoryGrowth, onStage, warmUp, type FullCost, type Stage } from '../support/stage';
import { sum } from '../support/statistics';
import { UnarySide } from '../support/unary-side';
import type { Row, RowContext } from './row';
import { sessionMoves } from './session-move';

const PROCESSES = 2;
const IN_FLIGHT = 128;
/** The sessions that hold leases. */
const HOLDERS = 20;
/** A lease with a TTL of 30 s is renewed every 10 s, so each round has one renewal of each lease. */
const RENEWAL_INTERVAL_MS = 10_000;

type Group = LoadGroup<SessionTasks>;

/** Processes with sessions. The sessions are shared out evenly. */
async function withSessions<T>(stage: Stage, count: number, work: (group: Group) => Promise<T>): Promise<T> {
  const group: Group = new LoadGroup('session', PROCESSES);
  try {
    const address = stage.server.listen;
    const each = count / PROCESSES;
    await group.askEach('connect', (index) => ({ address, label: `session-${index}`, count: each }));
    return await work(group);
  } finally {
    group.end();
  }
}

async function run(group: Group, kind: SessionWork, count: number): Promise<number> {
  await group.ask('work', { kind, count: count / PROCESSES, inFlight: IN_FLIGHT / PROCESSES });
  return count;
}

/** The CPU of Lock and Unlock of etcd (µs), or undefined if this machine cannot build etcd. */
type EtcdPair = (() => Promise<number>) | undefined;

async function withEtcd<T>(
  pairs: number,
  say: (text: string) => void,
  work: (pair: EtcdPair) => Promise<T>,
): Promise<T> {
  const store = await stores.etcd();
  if ('missing' in store) {
    say(`etcd is not measured: ${store.missing}`);
    return work(undefined);
  }
  const group = new LoadGroup<EtcdTasks>('etcd', PROCESSES);
  try {
    await group.askEach('connect', (index) => ({ address: store.address, label: `bench-${index}` }));
    const amount = { count: pairs / PROCESSES, inFlight: IN_FLIGHT / PROCESSES };
    return await work(async () => {
      const { spentMs } = await cpuDuring(store.pids.server, () => group.ask('pairs', amount));
      return ((spentMs[0] ?? NaN) * 1000) / pairs;
    });
  } finally {
    group.end();
    await store.end();
  }
}

function commandFigures(
  acquire: FullCost,
  release: FullCost,
  unary: FullCost,
  etcd: number | undefined,
): Figure[] {
  const server = acquire.server + release.server;
  const both = server + acquire.redis + release.redis;
  const beside = (etcdMicros: number) =>
    figure("acquire and release per core, Redis counted, by etcd's", '×', etcdMicros / both, { least: 3 });
  return [
    figure('acquire: server CPU', 'µs', acquire.server, { most: 35 }),
    figure('acquire: Redis CPU', 'µs', acquire.redis, { most: 25 }),
    figure('release: server CPU', 'µs', release.server, { most: 30 }),
    figure('release: Redis CPU', 'µs', release.redis, { most: 25 }),
    figure('acquire and release per core of the server, by unary calls', '×', unary.server / server, {
      least: 2.4,
    }),
    ...(etcd === undefined ? [] : [beside(etcd)]),
  ];
}

async function commands({ quick, say }: RowContext): Promise<Figure[]> {
  const count = quick ? 2000 : 6000;
  const counts = quick ? { warmUps: 3, rounds: 5 } : { warmUps: 5, rounds: 15 };
  const side = await UnarySide.open();
  try {
    return await withSessions(side.stage, PROCESSES, (group) =>
      withEtcd(count / 2, say, (etcdPair) => {
        say(`${counts.rounds} rounds of ${count} acquires and releases, ${IN_FLIGHT} in flight`);
        return takeRounds(counts, async () => {
          const acquire = await costOf(side.stage, () => run(group, 'acquire', count));
          const release = await costOf(side.stage, () => run(group, 'release', count));
          const unary = await side.cost('pairs', count / 2, IN_FLIGHT);
          return commandFigures(acquire, release, unary, await etcdPair?.());
        });
      }),
    );
  } finally {
    await side.close();
  }
}

/** The renewals so far. A lost lease means that the machine was too busy. */
async function renewals(group: Group): Promise<number> {
  const events = await group.ask('events', undefined);
  const lost = sum(events.map((one) => one.lost));
  if (lost > 0) throw new Error(`${lost} leases of sessions were lost`);
  return sum(events.map(({ renewed }) => renewed));
}

async function heldLeases({ quick, say }: RowContext): Promise<Figure[]> {
  const leases = quick ? 10_000 : 100_000;
  return onStage(async (stage) => {
    await warmUp(stage);
    return withSessions(stage, HOLDERS, async (group) => {
      const bytes = await memoryGrowth(stage, () => run(group, 'acquire', leases));
      say(`${leases} leases of ${HOLDERS} sessions`);
      // This wait leaves out the first renewals, which come in bursts like the acquires.
      await sleep(RENEWAL_INTERVAL_MS);
      const counts = { warmUps: 0, rounds: quick ? 2 : 60 };
      const costs = await takeRounds(counts, () => renewalRound(stage, group, leases));
      return [
        figure(
          `${leases} leases of ${HOLDERS} sessions: server memory a lease`,
          'kB',
          bytes / leases / 1000,
          {
            most: 1.5,
          },
        ),
        ...costs,
      ];
    });
  });
}

async function renewalRound(stage: Stage, group: Group, leases: number): Promise<Figure[]> {
  const work = () => growthOf(() => renewals(group), RENEWAL_INTERVAL_MS);
  const { server, redis, perSecond } = await costOf(stage, work);
  const name = (what: string) => `${leases} leases of ${HOLDERS} sessions: ${what}`;
  return [
    figure(name('server CPU a renewal'), 'µs', server, { most: 30 }),
    figure(name('Redis CPU a renewal'), 'µs', redis, { most: 10 }),
    figure(name('renewals a second'), '', perSecond),
    figure(name('cores of server and Redis'), '', ((server + redis) * perSecond) / 1e6, { most: 0.5 }),
  ];
}

export const session: Row = {
  name: 'session',
  title: 'Sessions: acquire and release on one stream, and many held leases',
  about:
    'Two sessions with 64 commands in flight each, whose commands share messages as those of a client library do. Yardsticks: ' +
    'the same pairs as unary calls, and Lock and Unlock of etcd. Then 20 sessions hold leases with a TTL of 30 s for ten ' +
    "minutes: memory is the growth of the server's resident memory, read after garbage collections, and the CPU of a renewal " +
    'is the whole CPU of the server while nothing else happens, divided by the renewals: timers, scripts, replies, messages ' +
    'and heartbeats. At last one session holds 10,000 leases while its server is killed with SIGKILL. Its client attaches ' +
    'to all at another server, 1,000 attaches in flight, without the pause of up to 1 s that clients make at random.',
  run: async (context) => [
    ...(await commands(context)),
    ...(await heldLeases(context)),
    ...(await sessionMoves(context)),
  ],
};
