/** A signal that follows two signals. `dispose` removes the listeners, because AbortSignal.any keeps them for long. */
export interface JoinedSignal {
  readonly signal: AbortSignal;
  dispose(): void;
}

export function either(first: AbortSignal | undefined, second: AbortSignal): JoinedSignal {
  if (first === undefined) return { signal: second, dispose: () => undefined };
  const controller = new AbortController();
  const removals = [first, second].map((signal) => onAbort(signal, () => controller.abort(signal.reason)));
  return { signal: controller.signal, dispose: () => removals.forEach((remove) => remove()) };
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
