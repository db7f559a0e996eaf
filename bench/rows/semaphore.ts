import { figure, takeRounds, type Figure } from '../support/figures';
import { meanOf } from '../support/stage';
import { UnarySide } from '../support/unary-side';
import type { Row, RowContext } from './row';

const IN_FLIGHT = 32;

/** The lock comes before and after the semaphore, so that a change of the machine's speed favours neither. */
async function round(side: UnarySide, pairs: number): Promise<Figure[]> {
  const before = await side.cost('pairs', pairs, IN_FLIGHT);
  const semaphore = await side.cost('permitPairs', pairs, IN_FLIGHT);
  const lock = meanOf(before, await side.cost('pairs', pairs, IN_FLIGHT));
  return [
    figure("server CPU, by a lock's", '×', semaphore.server / lock.server, { most: 1.15 }),
    figure("Redis CPU, by a lock's", '×', semaphore.redis / lock.redis, { most: 1.15 }),
    figure('semaphore, acquire + release: server CPU', 'µs', semaphore.server),
    figure('lock, acquire + release: server CPU', 'µs', lock.server),
    figure('semaphore, acquire + release: Redis CPU', 'µs', semaphore.redis),
    figure('lock, acquire + release: Redis CPU', 'µs', lock.redis),
  ];
}

async function run({ quick, say }: RowContext): Promise<Figure[]> {
  return UnarySide.during((side) => {
    const pairs = quick ? 600 : 1500;
    const counts = quick ? { warmUps: 3, rounds: 5 } : { warmUps: 6, rounds: 11 };
    say(`${counts.rounds} rounds of ${pairs} pairs of each kind, ${IN_FLIGHT} in flight`);
    return takeRounds(counts, () => round(side, pairs));
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
