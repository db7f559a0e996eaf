import type { Logger } from 'pino';
import type { LoadedDictionaries } from '../engine/autocomplete/loaded/loaded-dictionaries';

/** How long the start waits for the load of one dictionary (ms). */
const PATIENCE_MS = 120_000;

/** Loads the dictionaries of HOLDFAST_PRELOAD. A dictionary that cannot be loaded does not keep the server from starting. */
export async function preload(
  names: readonly string[],
  indexes: LoadedDictionaries,
  log: Logger,
): Promise<void> {
  for (const name of names) {
    await indexes.load(name, PATIENCE_MS).catch((error: unknown) => {
      log.warn({ err: error, dictionary: name }, 'the dictionary was not preloaded');
    });
  }
}
