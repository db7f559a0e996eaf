import type { Micros } from '../../support/history';
import { monotonicMicros } from '../../support/history-recorder';

const EVERY_MS = 50;
/** Later than this by so much, a process did not run that should have. */
const STALLED_US: Micros = 300_000;

/**
 * Tells of the times in which this process did not come to run: stopped, or the machine busy with other things. What
 * a stalled machine does to leases is not the service's doing. Answers how to stop watching.
 */
export function watchStalls(onStall: (from: Micros, to: Micros) => void): () => void {
  let last = monotonicMicros();
  const timer = setInterval(() => {
    const now = monotonicMicros();
    if (now - last > EVERY_MS * 1000 + STALLED_US) onStall(last, now);
    last = now;
  }, EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}
