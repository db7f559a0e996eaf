import { figure, takeRounds, type Figure, type Goal } from '../support/figures';
import { meanOf, type FullCost } from '../support/stage';
import { UnarySide } from '../support/unary-side';
import type { Row, RowContext } from './row';

/** The calls in flight. The goals are for the first number. */
const LOADS = [32, 2] as const;

/** A call with its goals for the CPU of the server and of Redis (µs). */
interface Call {
  readonly name: string;
  readonly server?: Goal;
  readonly redis?: Goal;
}

const CALLS = {
  acquire: { name: 'AcquireLock', server: { most: 85 }, redis: { most: 27 } },
  renew: { name: 'RenewLock', server: { most: 75 }, redis: { most: 27 } },
  get: { name: 'GetLock' },
  release: { name: 'ReleaseLock', server: { most: 75 }, redis: { most: 25 } },
} as const satisfies Readonly<Record<string, Call>>;

/** The empty call is the yardstick, and comes first and last. */
async function round(side: UnarySide, inFlight: number, calls: number): Promise<Figure[]> {
  const cost = (kind: keyof typeof CALLS | 'empty') => side.cost(kind, calls, inFlight);
  const before = await cost('empty');
  const costs: [call: Call, cost: FullCost][] = [];
  for (const kind of ['acquire', 'renew', 'get', 'release'] as const) {
    costs.push([CALLS[kind], await cost(kind)]);
  }
  const empty = meanOf(before, await cost('empty'));
  return [
    figure(`an empty call, server CPU, ${inFlight} in flight`, 'µs', empty.server),
    ...costs.flatMap(([call, { server, redis, inScripts }]) => {
      const name = `${call.name}, ${inFlight} in flight`;
      const goals: Partial<Call> = inFlight === LOADS[0] ? call : {};
      return [
        figure(`${name}: server CPU`, 'µs', server, goals.server),
        figure(`${name}: Redis CPU`, 'µs', redis, goals.redis),
        figure(`${name}: of that in the script`, 'µs', inScripts),
        figure(`${name}: server CPU by an empty call's`, '×', server / empty.server),
      ];
    }),
  ];
}

async function run({ quick, say }: RowContext): Promise<Figure[]> {
  return UnarySide.during(async (side) => {
    const figures: Figure[] = [];
    for (const inFlight of LOADS) {
      const calls = (quick ? 1000 : 3000) / (inFlight === LOADS[0] ? 1 : 2);
      const counts = quick ? { warmUps: 3, rounds: 5 } : { warmUps: 5, rounds: 15 };
      figures.push(...(await takeRounds(counts, () => round(side, inFlight, calls))));
      say(`${counts.rounds} rounds of ${calls} calls of each kind, ${inFlight} in flight`);
    }
    return figures;
  });
}

export const unary: Row = {
  name: 'unary',
  title: 'AcquireLock, ReleaseLock and RenewLock without contention, beside an empty unary call',
  about:
    'CPU of a call in the server and in Redis. Each call has its own lock. An acquire makes its request id, and a release ' +
    'leaves a tombstone. An empty unary call on the same server behind the same wrapper shows the cost of any gRPC call in ' +
    'Node. With 2 calls in flight (2 processes, 1 call each) every call wakes the server twice, for the request and for the ' +
    'reply of Redis. With many calls in flight, several messages share a wake-up.',
  run,
};
