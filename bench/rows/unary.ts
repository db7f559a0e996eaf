import { takeRounds } from '../support/rounds';
import { ratios } from '../support/statistics';
import { meanOf, UnarySide, type UnaryCost } from '../support/unary-side';
import { figure } from './figure';
import type { Figure, Row, RowContext } from './row';

const CALLS = ['acquire', 'release', 'renew', 'get'] as const;
type Work = (typeof CALLS)[number] | 'empty';
/** The calls in flight. The goal is for the first number. */
const LOADS = [32, 2] as const;

type Round = Readonly<Record<Work, UnaryCost>>;

/** The empty call is the yardstick, and comes first and last. */
async function round(side: UnarySide, inFlight: number, calls: number): Promise<Round> {
  const cost = (kind: Work) => side.cost(kind, calls, inFlight);
  const before = await cost('empty');
  const [acquire, renew, get] = [await cost('acquire'), await cost('renew'), await cost('get')];
  const release = await cost('release');
  return { empty: meanOf(before, await cost('empty')), acquire, renew, get, release };
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
  const situation = `${inFlight} in flight`;
  const per = (part: keyof UnaryCost, kind: Work) => rounds.map((one) => one[kind][part]);
  const byEmpty = (kind: Work) => ratios(per('server', kind), per('server', 'empty'));
  return [
    figure(`${NAMES.empty}, server CPU, ${situation}`, 'µs', per('server', 'empty')),
    ...CALLS.flatMap((kind) => {
      const hasGoal = inFlight === LOADS[0] && (kind === 'acquire' || kind === 'release');
      const name = `${NAMES[kind]}, ${situation}`;
      return [
        figure(`${name}: server CPU by an empty call's`, '×', byEmpty(kind), hasGoal ? goal : undefined),
        figure(`${name}: server CPU`, 'µs', per('server', kind)),
        figure(`${name}: Redis CPU`, 'µs', per('redis', kind)),
        figure(`${name}: of that in the script`, 'µs', per('script', kind)),
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
      const rounds = await takeRounds(counts, () => round(side, inFlight, calls));
      say(`${rounds.length} rounds of ${calls} calls of each kind, ${inFlight} in flight`);
      figures.push(...figuresOf(rounds, inFlight));
    }
    return figures;
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
