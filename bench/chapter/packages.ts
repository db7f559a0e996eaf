import type { Redis } from 'ioredis';
import { Mutex, Semaphore } from 'redis-semaphore';
import Redlock, { ExecutionError } from 'redlock';
import { monotonicMs } from '../support/monotonic';
import type { Contender, Place } from './contender';

const DEFAULT_RETRY_COUNT = 10;
const DEFAULT_RETRY_DELAY_MS = 200;

/** The package `redis-semaphore`. All options but the two times have their defaults. The package reads `Date.now()`. */
export function redisSemaphore(kind: 'mutex' | 'semaphore'): (place: Place) => Contender {
  return ({ limit, redis, pause }) => ({
    acquire: async (name, ttlMs, waitMs) => {
      let until = Infinity;
      const options = {
        lockTimeout: ttlMs,
        acquireTimeout: waitMs,
        onLockLost: () => void (until = monotonicMs()),
      };
      const slow = slowCommands(redis, pause);
      const lock =
        kind === 'mutex' ? new Mutex(slow, name, options) : new Semaphore(slow, name, limit, options);
      if (!(await lock.tryAcquire())) return undefined;
      return {
        // The package refreshes automatically and reports no end. Its holder believes in the permit until `onLockLost`.
        get until() {
          return until;
        },
        release: () => lock.release(),
        abandon: () => lock.stopRefresh(),
      };
    },
  });
}

/** The package `redlock` on a single Redis, with its default options. The package uses the clock of `Date.now()`. */
export function redlock({ redis, pause }: Place): Contender {
  const locks = new Redlock([slowCommands(redis, pause)]);
  return {
    acquire: async (name, ttlMs, waitMs) => {
      const end = monotonicMs() + waitMs;
      // The default number of retries, or fewer retries if the run ends earlier.
      const retries = (): { retryCount: number } => {
        const fitting = Math.floor((end - monotonicMs()) / DEFAULT_RETRY_DELAY_MS);
        return { retryCount: Math.max(0, Math.min(DEFAULT_RETRY_COUNT, fitting)) };
      };
      const lock = await granted(locks.acquire([name], ttlMs, retries()));
      if (lock === undefined) return undefined;
      return {
        until: monotonicMs() + lock.expiration - Date.now(),
        release: async () => void (await granted(locks.release(lock, retries()))),
      };
    },
  };
}

/** Resolves to undefined if the package refused. */
async function granted<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ExecutionError) return undefined;
    throw error;
  }
}

/**
 * A connection that pauses before commands and after replies, because the benchmark cannot add pauses to a package's
 * code.
 */
function slowCommands(redis: Redis, pause: () => Promise<void>): Redis {
  return new Proxy(redis, {
    get: (target, property) => {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== 'function') return value;
      return async (...args: unknown[]): Promise<unknown> => {
        await pause();
        // After the end of the worker, a late refresh of the package must not run.
        if (target.status === 'end') return new Promise(() => undefined);
        const reply: unknown = await Reflect.apply(value, target, args);
        await pause();
        return reply;
      };
    },
  });
}
