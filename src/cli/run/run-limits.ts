import { UsageError } from '../exit-codes';
import { spanText } from '../spans';

/** The shortest ttl with which a watchdog on a busy machine still ends a command in time. */
export const LEAST_TTL_MS = 2000;
const LEAST_MARGIN_MS = 250;
const LARGEST_MARGIN_MS = 2000;

export interface RunLimits {
  readonly graceMs: number;
  readonly marginMs: number;
}

/**
 * When a command gets its signals before the deadline. A renewal comes about every third of the ttl, so SIGTERM in the last
 * half of the ttl means that a renewal is late.
 */
export function runLimits(ttlMs: number, graceMs = ttlMs / 4): RunLimits {
  if (ttlMs < LEAST_TTL_MS)
    throw new UsageError(`--ttl must be at least ${spanText(LEAST_TTL_MS)} to run a command`);
  const marginMs = Math.min(LARGEST_MARGIN_MS, Math.max(LEAST_MARGIN_MS, ttlMs / 10));
  const largest = ttlMs / 2 - marginMs;
  if (graceMs > largest) {
    throw new UsageError(
      `--grace must be at most ${spanText(largest)} with a ttl of ${spanText(ttlMs)}: use a longer --ttl`,
    );
  }
  return { graceMs, marginMs };
}
