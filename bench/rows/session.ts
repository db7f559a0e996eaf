import { stores } from '../locks/stores';
import type { EtcdTasks } from '../load/etcd';
import { cpuDuring } from '../support/cpu';
import { figure, takeRounds, type Figure } from '../support/figures';
import { LoadGroup } from '../support/load-process';
import { IN_FLIGHT, PROCESSES, run, withSessions } from '../support/session-group';
import { costOf, type FullCost } from '../support/stage';
import { UnarySide } from '../support/unary-side';
import type { Row, RowContext } from './row';

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

export const session: Row = {
  name: 'session',
  title: 'Sessions: acquire and release on one stream',
  about:
    'Two sessions with 64 commands in flight each. As in a client library, commands of one moment share a message. Yardsticks: ' +
    'the same pairs as unary calls, and Lock and Unlock of etcd.',
  run: commands,
};
