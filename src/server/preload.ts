import type { Logger } from 'pino';
import type { LoadedDictionaries } from '../autocomplete/loaded/loaded-dictionaries';
import type { Clock } from '../base/clock';
import { HoldfastError } from '../base/errors';

/** How long one dictionary may take, and how long all together wait for a store that does not answer (ms). */
const PATIENCE_MS = 120_000;
/** The pause before the next try while the store does not answer (ms). */
const PAUSE_MS = 1000;

export interface PreloadOptions {
  /** The dictionaries of HOLDFAST_PRELOAD. */
  readonly names: readonly string[];
  readonly indexes: Pick<LoadedDictionaries, 'load'>;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'info' | 'warn'>;
  /** Called before each dictionary, and at the end with 0: the dictionaries that are left. */
  readonly onProgress: (leftCount: number) => void;
  /** Ends the wait, and begins no further load. */
  readonly stopped: AbortSignal;
}

/**
 * Loads dictionaries, one after another, while the server already serves. A dictionary that cannot be loaded does not
 * keep the server from being ready.
 */
export async function preload(options: PreloadOptions): Promise<void> {
  const { names, clock, log, onProgress, stopped } = options;
  const waitsUntil = clock.now() + PATIENCE_MS;
  const stop = new Promise<void>((resolve) => stopped.addEventListener('abort', () => resolve()));
  for (const [at, name] of names.entries()) {
    onProgress(names.length - at);
    await Promise.race([load(name, waitsUntil, options), stop]);
    if (stopped.aborted) return;
  }
  onProgress(0);
  if (names.length > 0) log.info({}, 'the preload of dictionaries has ended');
}

/** Tries again while the store does not answer: at the start, the Redis of the dictionaries may answer later. */
async function load(dictionary: string, waitsUntil: number, options: PreloadOptions): Promise<void> {
  const { indexes, clock, log, stopped } = options;
  while (!stopped.aborted) {
    try {
      return await indexes.load(dictionary, PATIENCE_MS);
    } catch (error) {
      if (stopped.aborted) return;
      const mayAnswer = error instanceof HoldfastError && error.reason === 'STORE_UNAVAILABLE';
      if (!mayAnswer || clock.now() + PAUSE_MS >= waitsUntil) {
        log.warn({ err: error, dictionary }, 'the dictionary was not preloaded');
        return;
      }
    }
    await new Promise<void>((resolve) => clock.after(PAUSE_MS, resolve));
  }
}
