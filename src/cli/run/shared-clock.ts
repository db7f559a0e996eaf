import { existsSync } from 'node:fs';
import { uptime } from 'node:os';

/** The resolution of `os.uptime` on Linux. */
const RESOLUTION_MS = 10;
/** Without the file, `os.uptime` has a resolution of one second. */
const HAS_UPTIME = existsSync('/proc/uptime');

/**
 * A monotonic clock that all processes of this machine share (ms). On Linux the clock counts the time while the machine
 * was suspended, as the deadline of a lease does. Two readings may differ by RESOLUTION_MS.
 */
export function sharedNow(): number {
  return HAS_UPTIME ? uptime() * 1000 : Number(process.hrtime.bigint()) / 1e6;
}

/** The longest sleep (ms): a timer does not count the time while the machine was suspended, the shared clock does. */
export const LONGEST_SLEEP_MS = 1000;

/** The time of the shared clock after `remaining` milliseconds, or up to two resolutions earlier, never later. */
export function sharedDeadline(remaining: () => number): number {
  const before = sharedNow();
  return before + remaining() - 2 * RESOLUTION_MS;
}
