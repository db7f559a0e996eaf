import { etcdVersion } from '../locks/programs';
import { stores } from '../locks/stores';
import type { EtcdTasks } from '../load/etcd';
import { cpuDuring } from '../support/cpu';
import { LoadGroup } from '../support/load-process';
import { takeRounds } from '../support/rounds';
import { ratios } from '../support/statistics';
import { UnarySide } from '../support/unary-side';
import { figure } from './figure';
import type { Figure, Row, RowContext, Skipped } from './row';

const PROCESSES = 2;
const IN_FLIGHT = 32;

/** CPU per lock and unlock (µs). */
interface Round {
  readonly server: number;
  readonly serverAndRedis: number;
  readonly etcd: number;
  readonly etcdWithLeases: number;
}

function figuresOf(rounds: readonly Round[], version: string): Figure[] {
  const of = (part: keyof Round) => rounds.map((one) => one[part]);
  const throughput = (theirs: keyof Round, ours: keyof Round) => ratios(of(theirs), of(ours));
  return [
    figure(
      `throughput per core of CPU, Redis counted as ours, by ${version}'s`,
      '×',
      throughput('etcd', 'serverAndRedis'),
      { least: 1.7 },
    ),
    figure('the same, Redis not counted', '×', throughput('etcd', 'server')),
    figure(
      'etcd with a lease for each lock, Redis counted as ours',
      '×',
      throughput('etcdWithLeases', 'serverAndRedis'),
    ),
    figure('acquire + release: server CPU', 'µs', of('server')),
    figure('acquire + release: server and Redis CPU', 'µs', of('serverAndRedis')),
    figure('etcd Lock + Unlock, one lease for all: CPU', 'µs', of('etcd')),
    figure('etcd LeaseGrant + Lock + Unlock + LeaseRevoke: CPU', 'µs', of('etcdWithLeases')),
  ];
}

async function run({ quick, say }: RowContext): Promise<Figure[] | Skipped> {
  const store = await stores.etcd();
  if ('missing' in store) return { skipped: `etcd cannot be built: ${store.missing}` };
  const theirs = new LoadGroup<EtcdTasks>('etcd', PROCESSES);
  const pairs = quick ? 600 : 1500;
  const amount = { count: pairs / PROCESSES, inFlight: IN_FLIGHT / PROCESSES };
  const etcdMicros = async (task: 'pairs' | 'pairsWithLeases') => {
    const { spentMs } = await cpuDuring(store.pids.server, () => theirs.ask(task, amount));
    return ((spentMs[0] ?? NaN) * 1000) / pairs;
  };
  try {
    return await UnarySide.during(async (ours) => {
      await theirs.askEach('connect', (index) => ({ address: store.address, label: `bench-${index}` }));
      const counts = quick ? { warmUps: 3, rounds: 3 } : { warmUps: 6, rounds: 7 };
      const rounds = await takeRounds(counts, async (): Promise<Round> => {
        const { server, redis } = await ours.cost('pairs', pairs, IN_FLIGHT);
        const etcd = await etcdMicros('pairs');
        return {
          server,
          serverAndRedis: server + redis,
          etcd,
          etcdWithLeases: await etcdMicros('pairsWithLeases'),
        };
      });
      say(`${rounds.length} rounds of ${pairs} pairs each, ${IN_FLIGHT} in flight, ${etcdVersion()}`);
      return figuresOf(rounds, etcdVersion());
    });
  } finally {
    theirs.end();
    await store.close();
  }
}

export const etcd: Row = {
  name: 'etcd',
  title: "AcquireLock and ReleaseLock compared with Lock and Unlock of etcd's v3lock",
  about:
    'Pairs of acquire and release per second of server CPU without contention, compared with etcd. Both keep their data in ' +
    'memory and sync every write before the reply. etcd stores its data itself and Holdfast uses Redis, so the fair figure ' +
    'counts the CPU of Redis for Holdfast. etcd is used in its cheapest way, with one long lease for all locks of a client; ' +
    'a dead client then keeps its locks for that time. With a lease for each lock etcd does the same as Holdfast.',
  run,
};
