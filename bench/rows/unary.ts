import type { UnaryTasks, UnaryWork } from '../load/unary';
import { cpuMs } from '../support/cpu';
import { LoadGroup } from '../support/load-process';
import { onStage, type Stage } from '../support/stage';
import { ratios, spreadOf } from '../support/statistics';
import type { Figure, Row, RowContext } from './row';

export const PROCESSES = 2;
/** The order of the measured calls in one round. The empty call is the yardstick, and comes first and last. */
const TURN = ['empty', 'acquire', 'renew', 'get', 'release', 'empty'] as const satisfies UnaryWork[];
type Work = (typeof TURN)[number];
/** The calls in flight for each load process. The goal is for the first number. */
const LOADS = [16, 1] as const;

/** The cost of one call (µs). */
interface Round {
  readonly server: Record<Work, number>;
  readonly redis: Record<Work, number>;
  /** The time inside the script by Redis's own clock. */
  readonly script: Record<Work, number>;
}

/** Measures the mean cost of a call (µs). */
export async function slice(
  stage: Stage,
  group: LoadGroup<UnaryTasks>,
  kind: Work,
  inFlight: number,
  calls: number,
) {
  const { redis, server } = stage;
  const counts = await redis.commandCounts();
  const before = [cpuMs(server.pid), cpuMs(redis.pid)] as const;
  await group.ask('work', { kind, count: calls / PROCESSES, inFlight });
  const after = [cpuMs(server.pid), cpuMs(redis.pid)] as const;
  const { scriptMicroseconds } = await redis.commandCounts();
  return {
    server: ((after[0] - before[0]) * 1000) / calls,
    redis: ((after[1] - before[1]) * 1000) / calls,
    script: (scriptMicroseconds - counts.scriptMicroseconds) / calls,
  };
}

async function round(
  stage: Stage,
  group: LoadGroup<UnaryTasks>,
  inFlight: number,
  calls: number,
): Promise<Round> {
  const found: Round = {
    server: { empty: 0, acquire: 0, renew: 0, get: 0, release: 0 },
    redis: { empty: 0, acquire: 0, renew: 0, get: 0, release: 0 },
    script: { empty: 0, acquire: 0, renew: 0, get: 0, release: 0 },
  };
  for (const kind of TURN) {
    const share = kind === 'empty' ? 1 / 2 : 1;
    const { server, redis, script } = await slice(stage, group, kind, inFlight, calls);
    found.server[kind] += server * share;
    found.redis[kind] += redis * share;
    found.script[kind] += script * share;
  }
  return found;
}

const NAMES: Record<Work, string> = {
  empty: 'an empty call',
  acquire: 'AcquireLock',
  release: 'ReleaseLock',
  renew: 'RenewLock',
  get: 'GetLock',
};

function figuresOf(rounds: readonly Round[], inFlight: number): Figure[] {
  const goal = { most: 1.4, bar: 1.8 };
  const situation = `${PROCESSES * inFlight} in flight`;
  const per = (part: keyof Round, kind: Work) => rounds.map((one) => one[part][kind]);
  const byEmpty = (kind: Work) => spreadOf(ratios(per('server', kind), per('server', 'empty')));
  const figures: Figure[] = [
    { what: `${NAMES.empty}, server CPU, ${situation}`, unit: 'µs', value: spreadOf(per('server', 'empty')) },
  ];
  for (const kind of ['acquire', 'release', 'renew', 'get'] as const) {
    const bound = inFlight === LOADS[0] && (kind === 'acquire' || kind === 'release') ? { goal } : {};
    const name = `${NAMES[kind]}, ${situation}`;
    figures.push(
      { what: `${name}: server CPU by an empty call's`, unit: '×', value: byEmpty(kind), ...bound },
      { what: `${name}: server CPU`, unit: 'µs', value: spreadOf(per('server', kind)) },
      { what: `${name}: Redis CPU`, unit: 'µs', value: spreadOf(per('redis', kind)) },
      { what: `${name}: of that in the script`, unit: 'µs', value: spreadOf(per('script', kind)) },
    );
  }
  return figures;
}

async function run({ quick, say }: RowContext): Promise<Figure[]> {
  return onStage(async (stage) => {
    const group = new LoadGroup<UnaryTasks>('unary', PROCESSES);
    try {
      await group.askEach('connect', (index) => ({ address: stage.server.listen, label: `bench-${index}` }));
      const figures: Figure[] = [];
      for (const inFlight of LOADS) {
        const calls = (quick ? 1000 : 3000) / (inFlight === 1 ? 2 : 1);
        for (let warmUp = 0; warmUp < (quick ? 3 : 5); warmUp += 1)
          await round(stage, group, inFlight, calls);
        const rounds: Round[] = [];
        for (let count = quick ? 5 : 15; count > 0; count -= 1) {
          rounds.push(await round(stage, group, inFlight, calls));
        }
        say(`${rounds.length} rounds of ${calls} calls of each kind, ${PROCESSES * inFlight} in flight`);
        figures.push(...figuresOf(rounds, inFlight));
      }
      return figures;
    } finally {
      group.end();
    }
  });
}

export const unary: Row = {
  name: 'unary',
  title: 'AcquireLock and ReleaseLock without contention, compared with an empty unary call',
  about:
    'Server CPU of each call, divided by the CPU of an empty unary call on the same server behind the same wrapper: the cost ' +
    'of a lock beyond the cost of any gRPC call in Node. Each call has its own lock. An acquire makes its request id, and a ' +
    'release leaves a tombstone. With 2 calls in flight (2 processes, 1 call each) every call wakes the server twice, for ' +
    'the request and for the reply of Redis. With many calls in flight, several messages share a wake-up.',
  run,
};
