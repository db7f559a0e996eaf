import type { Log } from '../../src/base/meters';

/** A log that nobody reads. */
export const NO_LOG: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
