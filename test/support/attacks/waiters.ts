import type { Attack, AttackScene } from './attack';
import { acquireLock, sendAtOnce } from './attack';

const CONNECTIONS = 40;
/** The quota of waiting unary calls on a connection. */
const WAITERS_EACH = 500;
const TTL_MS = 2000;
const WAIT_MS = 120_000;

/**
 * Sends all waiters at once. Nobody releases, so that each lease expires and the next waiter is granted. At the end of
 * the attack all remaining waiters vanish at once.
 */
async function arriveAtOnce(scene: AttackScene, nameOf: (waiter: number) => string): Promise<void> {
  const count = scene.scaled(CONNECTIONS);
  const calls = Array.from({ length: count * WAITERS_EACH }, (_, waiter) =>
    acquireLock({ name: nameOf(waiter), ttlMs: TTL_MS, waitMs: WAIT_MS }),
  );
  await sendAtOnce(scene, count, calls);
}

export const waitersOfOneName: Attack = {
  name: 'waiters-one-name',
  title: '20,000 waiters at once for one name, on 40 connections',
  run: (scene) => arriveAtOnce(scene, () => scene.label),
};

const NAMES = 1000;

export const waitersOfManyNames: Attack = {
  name: 'waiters-many-names',
  title: '20,000 waiters at once for 1,000 names, on 40 connections',
  run: (scene) => arriveAtOnce(scene, (waiter) => `${scene.label}-${waiter % NAMES}`),
};
