import { takeRounds } from '../support/rounds';
import { ratios } from '../support/statistics';
import { meanOf, UnarySide, type UnaryCost } from '../support/unary-side';
import { figure } from './figure';
import type { Figure, Row, RowContext } from './row';

const IN_FLIGHT = 32;

/** The cost of an acquire with its release. */
interface Round {
  readonly lock: UnaryCost;
  readonly semaphore: UnaryCost;
}

/** The lock comes before and after the semaphore, so that a change of the machine's speed favours neither. */
async function round(side: UnarySide, pairs: number): Promise<Round> {
  const before = await side.cost('pairs', pairs, IN_FLIGHT);
  const semaphore = await side.cost('permitPairs', pairs, IN_FLIGHT);
  return { semaphore, lock: meanOf(before, await side.cost('pairs', pairs, IN_FLIGHT)) };
}

function figuresOf(rounds: readonly Round[]): Figure[] {
  const of = (what: keyof Round, part: 'server' | 'redis') => rounds.map((one) => one[what][part]);
  const byLock = (part: 'server' | 'redis') => ratios(of('semaphore', part), of('lock', part));
  const pair = (what: keyof Round) => `${what}, acquire + release`;
  return [
    figure("server CPU, by a lock's", '×', byLock('server'), { most: 1.15 }),
    figure("Redis CPU, by a lock's", '×', byLock('redis'), { most: 1.15 }),
    figure(`${pair('semaphore')}: server CPU`, 'µs', of('semaphore', 'server')),
    figure(`${pair('lock')}: server CPU`, 'µs', of('lock', 'server')),
    figure(`${pair('semaphore')}: Redis CPU`, 'µs', of('semaphore', 'redis')),
    figure(`${pair('lock')}: Redis CPU`, 'µs', of('lock', 'redis')),
  ];
}

async function run({ quick, say }: RowContext): Promise<Figure[]> {
  return UnarySide.during(async (side) => {
    const pairs = quick ? 600 : 1500;
    const counts = quick ? { warmUps: 3, rounds: 5 } : { warmUps: 6, rounds: 11 };
    const rounds = await takeRounds(counts, () => round(side, pairs));
    say(`${rounds.length} rounds of ${pairs} pairs of each kind, ${IN_FLIGHT} in flight`);
    return figuresOf(rounds);
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
