import { etcdVersion } from '../locks/programs';
import { stores } from '../locks/stores';
import type { EtcdTasks } from '../load/etcd';
import { cpuDuring } from '../support/cpu';
import { figure, takeRounds, type Figure } from '../support/figures';
import { LoadGroup } from '../support/load-process';
import { UnarySide } from '../support/unary-side';
import type { Row, RowContext, Skipped } from './row';

const PROCESSES = 2;
const IN_FLIGHT = 32;

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
      const version = etcdVersion();
      say(`${counts.rounds} rounds of ${pairs} pairs each, ${IN_FLIGHT} in flight, ${version}`);
      return await takeRounds(counts, async () => {
        const { server, redis } = await ours.cost('pairs', pairs, IN_FLIGHT);
        const both = server + redis;
        const etcd = await etcdMicros('pairs');
        const leases = await etcdMicros('pairsWithLeases');
        const title = `throughput per core of CPU, Redis counted as ours, by ${version}'s`;
        return [
          figure(title, '×', etcd / both, { least: 1.7 }),
          figure('the same, Redis not counted', '×', etcd / server),
          figure('etcd with a lease for each lock, Redis counted as ours', '×', leases / both),
          figure('acquire + release: server CPU', 'µs', server),
          figure('acquire + release: server and Redis CPU', 'µs', both),
          figure('etcd Lock + Unlock, one lease for all: CPU', 'µs', etcd),
          figure('etcd LeaseGrant + Lock + Unlock + LeaseRevoke: CPU', 'µs', leases),
        ];
      });
    });
  } finally {
    theirs.end();
    await store.end();
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
