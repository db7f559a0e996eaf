import type { UnaryTasks, UnaryWork } from '../load/unary';
import { cpuMs } from '../support/cpu';
import { LoadGroup } from '../support/load-process';
import { onStage, type Stage } from '../support/stage';
import { ratios, spreadOf } from '../support/statistics';
import type { Figure, Row, RowContext } from './row';

const PROCESSES = 2;
const IN_FLIGHT = 16;
/** The lock comes before and after the semaphore, so that a change of the machine's speed favours neither. */
const TURN = ['pairs', 'permitPairs', 'pairs'] as const satisfies UnaryWork[];

/** CPU per acquire and release (µs). */
interface Cost {
  readonly server: number;
  readonly redis: number;
}

interface Round {
  readonly lock: Cost;
  readonly semaphore: Cost;
}

async function cost(
  { server, redis }: Stage,
  group: LoadGroup<UnaryTasks>,
  kind: UnaryWork,
  pairs: number,
): Promise<Cost> {
  const before = [cpuMs(server.pid), cpuMs(redis.pid)] as const;
  await group.ask('work', { kind, count: pairs / PROCESSES, inFlight: IN_FLIGHT });
  const perPair = (ms: number) => (ms * 1000) / pairs;
  return {
    server: perPair(cpuMs(server.pid) - before[0]),
    redis: perPair(cpuMs(redis.pid) - before[1]),
  };
}

async function round(stage: Stage, group: LoadGroup<UnaryTasks>, pairs: number): Promise<Round> {
  const found: Cost[] = [];
  for (const kind of TURN) found.push(await cost(stage, group, kind, pairs));
  const [first, semaphore, second] = found as [Cost, Cost, Cost];
  const lock = { server: (first.server + second.server) / 2, redis: (first.redis + second.redis) / 2 };
  return { lock, semaphore };
}

function figuresOf(rounds: readonly Round[]): Figure[] {
  const of = (what: keyof Round, part: keyof Cost) => rounds.map((one) => one[what][part]);
  const times = (part: keyof Cost) => spreadOf(ratios(of('semaphore', part), of('lock', part)));
  const micros = (what: keyof Round, part: keyof Cost): Figure => ({
    what: `${what}, acquire + release: ${part === 'server' ? 'server' : 'Redis'} CPU`,
    unit: 'µs',
    value: spreadOf(of(what, part)),
  });
  return [
    { what: "server CPU, by a lock's", unit: '×', value: times('server'), goal: { most: 1.15 } },
    { what: "Redis CPU, by a lock's", unit: '×', value: times('redis'), goal: { most: 1.15 } },
    micros('semaphore', 'server'),
    micros('lock', 'server'),
    micros('semaphore', 'redis'),
    micros('lock', 'redis'),
  ];
}

async function run({ quick, say }: RowContext): Promise<Figure[]> {
  return onStage(async (stage) => {
    const group = new LoadGroup<UnaryTasks>('unary', PROCESSES);
    try {
      await group.askEach('connect', (index) => ({ address: stage.server.listen, label: `bench-${index}` }));
      const pairs = quick ? 600 : 1500;
      for (let warmUp = 0; warmUp < (quick ? 3 : 6); warmUp += 1) await round(stage, group, pairs);
      const rounds: Round[] = [];
      for (let count = quick ? 5 : 11; count > 0; count -= 1) rounds.push(await round(stage, group, pairs));
      say(`${rounds.length} rounds of ${pairs} pairs of each kind, ${PROCESSES * IN_FLIGHT} in flight`);
      return figuresOf(rounds);
    } finally {
      group.end();
    }
  });
}

export const semaphore: Row = {
  name: 'semaphore',
  title: 'AcquirePermits and ReleasePermits compared with AcquireLock and ReleaseLock',
  about:
    'CPU of an acquire and a release of one permit, divided by the CPU of the same with a lock. Both use the same code; a ' +
    'semaphore has one key more. Each of the 32 clients has its own lock and its own semaphore, without contention.',
  run,
};
