import { Mutex, Semaphore } from 'redis-semaphore';
import { monotonicMs } from '../support/monotonic';
import type { Contender, Permit, Place } from './contender';
import { slowCommands } from './slow-commands';

/** The package `redis-semaphore`. All options but the two times have their defaults. The package reads `Date.now()`. */
export class RedisSemaphorePackage implements Contender {
  constructor(
    private readonly place: Place,
    private readonly kind: 'mutex' | 'semaphore',
  ) {}

  async acquire(name: string, ttlMs: number, waitMs: number): Promise<Permit | undefined> {
    const { limit } = this.place;
    const redis = slowCommands(this.place.redis, this.place.pause);
    let until = Infinity;
    const options = {
      lockTimeout: ttlMs,
      acquireTimeout: waitMs,
      onLockLost: () => void (until = monotonicMs()),
    };
    const lock =
      this.kind === 'mutex' ? new Mutex(redis, name, options) : new Semaphore(redis, name, limit, options);
    if (!(await lock.tryAcquire())) return undefined;
    return {
      // The package refreshes automatically and reports no end. Its holder believes in the permit until `onLockLost`.
      get until() {
        return until;
      },
      release: () => lock.release(),
      abandon: () => lock.stopRefresh(),
    };
  }
}
