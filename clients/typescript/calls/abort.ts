import { noAnswer } from '../errors';
import { LONGEST_TIMER_MS } from '../numbers';

/** A signal that follows two signals. `dispose` removes the listeners, because AbortSignal.any keeps them for long. */
export interface JoinedSignal {
  readonly signal: AbortSignal;
  dispose(): void;
}

/** @param timeoutMs the signal aborts with an UnavailableError after this time. Default: never */
export function either(
  first: AbortSignal | undefined,
  second: AbortSignal,
  timeoutMs = Infinity,
): JoinedSignal {
  const isBounded = Number.isFinite(timeoutMs);
  if (first === undefined && !isBounded) return { signal: second, dispose: () => undefined };
  const controller = new AbortController();
  const follow = (signal: AbortSignal) => onAbort(signal, () => controller.abort(signal.reason));
  const removals = [first, second].flatMap((signal) => (signal === undefined ? [] : [follow(signal)]));
  if (isBounded) removals.push(after(timeoutMs, () => controller.abort(tooLate(timeoutMs))));
  return { signal: controller.signal, dispose: () => removals.forEach((remove) => remove()) };
}

function after(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, Math.min(ms, LONGEST_TIMER_MS));
  return () => clearTimeout(timer);
}

function tooLate(ms: number): Error {
  return noAnswer(`the call has not ended within its timeout of ${ms} ms`);
}

/** Calls `run` once, at once if the signal has aborted. Returns a function that removes the listener. */
export function onAbort(signal: AbortSignal, run: () => void): () => void {
  if (signal.aborted) {
    run();
    return () => undefined;
  }
  signal.addEventListener('abort', run, { once: true });
  return () => signal.removeEventListener('abort', run);
}

/** Rejects with the signal's reason when the signal aborts. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      remove();
      resolve();
    }, ms);
    const remove = onAbort(signal, () => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    });
  });
}

/** Follows the promise. Rejects with the signal's reason when the signal aborts before the end of the promise. */
export async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  let remove: (() => void) | undefined;
  const aborted = new Promise<never>((_, reject) => {
    remove = onAbort(signal, () => reject(signal.reason as Error));
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    remove?.();
  }
}
