import Redlock, { ExecutionError } from 'redlock';
import { monotonicMs } from '../support/monotonic';
import type { Contender, Permit, Place } from './contender';
import { slowCommands } from './slow-commands';

const DEFAULT_RETRY_COUNT = 10;
const DEFAULT_RETRY_DELAY_MS = 200;

/** The package `redlock` on a single Redis, with its default options. The package uses the clock of `Date.now()`. */
export class RedlockPackage implements Contender {
  private readonly redlock: Redlock;

  constructor({ redis, pause }: Place) {
    this.redlock = new Redlock([slowCommands(redis, pause)]);
  }

  async acquire(name: string, ttlMs: number, waitMs: number): Promise<Permit | undefined> {
    const end = monotonicMs() + waitMs;
    // The default number of retries, or fewer retries if the run ends earlier.
    const retries = (): { retryCount: number } => ({
      retryCount: Math.max(
        0,
        Math.min(DEFAULT_RETRY_COUNT, Math.floor((end - monotonicMs()) / DEFAULT_RETRY_DELAY_MS)),
      ),
    });
    const lock = await granted(this.redlock.acquire([name], ttlMs, retries()));
    if (lock === undefined) return undefined;
    return {
      until: monotonicMs() + lock.expiration - Date.now(),
      release: async () => void (await granted(this.redlock.release(lock, retries()))),
    };
  }
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
