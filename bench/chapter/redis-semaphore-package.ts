import { Mutex, Semaphore } from 'redis-semaphore';
import { monotonicMs } from '../support/monotonic';
import type { Contender, Permit, Place } from './contender';
import { slowCommands } from './slow-commands';

/** The package `redis-semaphore`, with its defaults but for the two times. It reads `Date.now()`. */
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
      // It refreshes by itself and names no end: its holder believes until it is told.
      get until() {
        return until;
      },
      release: () => lock.release(),
      abandon: () => lock.stopRefresh(),
    };
  }
}
