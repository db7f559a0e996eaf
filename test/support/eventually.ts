import { setTimeout as sleep } from 'node:timers/promises';

export interface EventuallyOptions {
  /** Default 5 s. */
  readonly timeoutMs?: number;
  /** Default 20 ms. */
  readonly everyMs?: number;
}

type Truthy<T> = Exclude<T, false | 0 | '' | null | undefined>;

/**
 * Waits until `check` answers something truthy, and answers that. Says after the time limit what was waited for,
 * and what the last answer or error was.
 */
export async function eventually<T>(
  what: string,
  check: () => T | Promise<T>,
  options: EventuallyOptions = {},
): Promise<Truthy<T>> {
  const { timeoutMs = 5_000, everyMs = 20 } = options;
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

/** Waits until an assertion, `expect(…)` say, passes. */
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
