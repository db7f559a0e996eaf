import type { Micros } from '../../support/history';
import { monotonicMicros } from '../../support/history-recorder';

const EVERY_MS = 50;
/** A timer that is late by more than this time shows a stall (ms). */
const STALLED_US: Micros = 300_000;

/**
 * Reports the spans in which this process did not run, because it was paused or the machine was busy. The effects of
 * such a span on leases are no defects of the service. Returns a function that stops the reports.
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
