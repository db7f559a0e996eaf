import { setTimeout as sleep } from 'node:timers/promises';

export interface EventuallyOptions {
  /** The time limit. Default: 20 s, which is enough for a machine with busy cores. */
  readonly timeoutMs?: number;
  /** The time between two checks. Default 20 ms. */
  readonly everyMs?: number;
}

const DEFAULT_TIMEOUT_MS = 20_000;

type Truthy<T> = Exclude<T, false | 0 | '' | null | undefined>;

/**
 * Repeats `check` until it returns a truthy value, and resolves to the value. After the timeout it rejects with `what`
 * and the last value or error.
 */
export async function eventually<T>(
  what: string,
  check: () => T | Promise<T>,
  options: EventuallyOptions = {},
): Promise<Truthy<T>> {
  const { timeoutMs = DEFAULT_TIMEOUT_MS, everyMs = 20 } = options;
  const started = performance.now();
  for (;;) {
    let last: string;
    let cause: unknown;
    try {
      const answer = await check();
      if (answer) return answer as Truthy<T>;
      last = `last answer: ${String(answer)}`;
    } catch (error) {
      cause = error;
      last = `last error: ${error instanceof Error ? error.message : String(error)}`;
    }
    const waited = performance.now() - started;
    if (waited >= timeoutMs)
      throw new Error(`not within ${Math.round(waited)} ms: ${what}; ${last}`, { cause });
    await sleep(everyMs);
  }
}

/** Repeats an assertion, for example an `expect(…)`, until it passes. */
export async function eventuallyPasses(
  what: string,
  assertion: () => void | Promise<void>,
  options: EventuallyOptions = {},
): Promise<void> {
  await eventually(
    what,
    async () => {
      await assertion();
      return true;
    },
    options,
  );
}

/** Waits until all have ended, and then throws the first error: what goes on would use what is closed then. */
export async function allEnded(works: readonly Promise<void>[]): Promise<void> {
  const failed = (await Promise.allSettled(works)).find(({ status }) => status === 'rejected');
  if (failed !== undefined) throw (failed as PromiseRejectedResult).reason;
}

/**
 * Runs every step in order, also after a step that fails, and then throws the first error. A connection that stays open
 * would keep the test run alive.
 */
export async function closeAll(...steps: readonly (() => unknown)[]): Promise<void> {
  const errors: unknown[] = [];
  for (const step of steps) {
    try {
      await step();
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw errors[0];
}
