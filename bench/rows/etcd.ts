import { EtcdClient } from '../load/etcd-client';
import type { EtcdTasks } from '../load/etcd';
import type { UnaryTasks } from '../load/unary';
import { cpuMs } from '../support/cpu';
import { BenchEtcd, findEtcd } from '../support/etcd';
import { LoadGroup } from '../support/load-process';
import { onStage } from '../support/stage';
import { ratios, spreadOf } from '../support/statistics';
import type { Figure, Row, RowContext, Skipped } from './row';

const PROCESSES = 2;
const IN_FLIGHT = 16;

/** CPU per lock and unlock (µs). */
interface Round {
  readonly server: number;
  readonly serverAndRedis: number;
  readonly etcd: number;
  readonly etcdWithLeases: number;
}

interface Processes {
  readonly serverPid: number;
  readonly redisPid: number;
  readonly etcdPid: number;
  readonly ours: LoadGroup<UnaryTasks>;
  readonly theirs: LoadGroup<EtcdTasks>;
}

async function answers(address: string): Promise<boolean> {
  const client = new EtcdClient(address);
  try {
    await client.revokeLease(await client.grantLease(60_000));
    return true;
  } catch {
    return false;
  } finally {
    client.close();
  }
}

async function round(processes: Processes, pairs: number): Promise<Round> {
  const { serverPid, redisPid, etcdPid, ours, theirs } = processes;
  const amount = { count: pairs / PROCESSES, inFlight: IN_FLIGHT };
  const spent = async (pids: number[], work: () => Promise<unknown>): Promise<number[]> => {
    const before = pids.map(cpuMs);
    await work();
    return pids.map((pid, index) => ((cpuMs(pid) - (before[index] ?? 0)) * 1000) / pairs);
  };
  const [server = NaN, redis = NaN] = await spent([serverPid, redisPid], () =>
    ours.ask('work', { kind: 'pairs', ...amount }),
  );
  const [etcd = NaN] = await spent([etcdPid], () => theirs.ask('pairs', amount));
  const [etcdWithLeases = NaN] = await spent([etcdPid], () => theirs.ask('pairsWithLeases', amount));
  return { server, serverAndRedis: server + redis, etcd, etcdWithLeases };
}

function figuresOf(rounds: readonly Round[]): Figure[] {
  const of = (part: keyof Round) => rounds.map((one) => one[part]);
  const micros = (what: string, part: keyof Round): Figure => ({
    what,
    unit: 'µs',
    value: spreadOf(of(part)),
  });
  const times = (what: string, theirs: keyof Round, ours: keyof Round): Figure => ({
    what,
    unit: '×',
    value: spreadOf(ratios(of(theirs), of(ours))),
  });
  return [
    { ...times("throughput per core of server CPU, by etcd's", 'etcd', 'server'), goal: { least: 1 } },
    times('the same, Redis counted as ours', 'etcd', 'serverAndRedis'),
    times('etcd with a lease for each lock, Redis counted as ours', 'etcdWithLeases', 'serverAndRedis'),
    micros('acquire + release: server CPU', 'server'),
    micros('acquire + release: server and Redis CPU', 'serverAndRedis'),
    micros('etcd Lock + Unlock, one lease for all: CPU', 'etcd'),
    micros('etcd LeaseGrant + Lock + Unlock + LeaseRevoke: CPU', 'etcdWithLeases'),
  ];
}

async function run({ quick, say }: RowContext): Promise<Figure[] | Skipped> {
  const program = await findEtcd();
  if ('missing' in program) return { skipped: program.missing };
  const etcd = await BenchEtcd.start(program, answers);
  const theirs = new LoadGroup<EtcdTasks>('etcd', PROCESSES);
  const ours = new LoadGroup<UnaryTasks>('unary', PROCESSES);
  try {
    return await onStage(async ({ redis, server }) => {
      await theirs.askEach('connect', (index) => ({ address: etcd.address, label: `bench-${index}` }));
      await ours.askEach('connect', (index) => ({ address: server.listen, label: `bench-${index}` }));
      const processes = { serverPid: server.pid, redisPid: redis.pid, etcdPid: etcd.pid, ours, theirs };
      const pairs = quick ? 600 : 1500;
      for (let warmUp = 0; warmUp < (quick ? 3 : 6); warmUp += 1) await round(processes, pairs);
      const rounds: Round[] = [];
      for (let count = quick ? 3 : 7; count > 0; count -= 1) rounds.push(await round(processes, pairs));
      say(
        `${rounds.length} rounds of ${pairs} pairs each, ${PROCESSES * IN_FLIGHT} in flight, ${program.version}`,
      );
      return figuresOf(rounds);
    });
  } finally {
    theirs.end();
    ours.end();
    await etcd.close();
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
