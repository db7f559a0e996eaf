import { noAnswer } from '../errors';
import { LONGEST_TIMER_MS } from '../numbers';
import { invalidOption } from '../time-span';

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
  checkedSignal(first);
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

/** Throws an InvalidRequestError for a value that is no AbortSignal. Takes the signals of another realm. */
export function checkedSignal(signal: AbortSignal | undefined): AbortSignal | undefined {
  const given = signal as Partial<AbortSignal> | null | undefined;
  if (given === undefined || typeof given?.throwIfAborted === 'function') return signal;
  throw invalidOption('signal', 'an AbortSignal');
}

/** One listener of a signal, with all that it calls. */
interface Followers {
  readonly runs: Set<() => void>;
  readonly tell: () => void;
}

const followersOf = new WeakMap<AbortSignal, Followers>();

/**
 * Calls `run` once, at once if the signal has aborted. Returns a function that undoes this. A signal has one listener for
 * all, because Node warns of the eleventh listener, and finds one of thousands slowly.
 */
export function onAbort(signal: AbortSignal, run: () => void): () => void {
  if (signal.aborted) {
    run();
    return () => undefined;
  }
  const followers = followersOf.get(signal) ?? follow(signal);
  // A function of its own for each call, because two calls may pass the same one.
  const own = () => run();
  followers.runs.add(own);
  return () => {
    followers.runs.delete(own);
    if (followers.runs.size === 0) unfollow(signal, followers);
  };
}

function follow(signal: AbortSignal): Followers {
  const runs = new Set<() => void>();
  const tell = () => {
    // A signal that has aborted keeps nothing.
    followersOf.delete(signal);
    for (const run of runs) {
      runs.delete(run);
      run();
    }
  };
  signal.addEventListener('abort', tell, { once: true });
  const followers = { runs, tell };
  followersOf.set(signal, followers);
  return followers;
}

/** Node keeps a signal of `AbortSignal.any` for as long as the signal has a listener. */
function unfollow(signal: AbortSignal, followers: Followers): void {
  signal.removeEventListener('abort', followers.tell);
  if (followersOf.get(signal) === followers) followersOf.delete(signal);
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
