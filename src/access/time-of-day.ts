import type { Clock } from '../base/clock';

export const DAY_MS = 86_400_000;

/**
 * Credentials end at a time of day. Each end is converted once to the monotonic clock, so a later step of the wall clock
 * neither prolongs nor ends a credential. The monotonic clock stops while the machine is suspended, so the credential
 * then ends later by the time of the suspension.
 */
export function onMonotonicClock(clock: Clock, timeOfDayMs: number): number {
  return clock.now() + (timeOfDayMs - Date.now());
}

/** How long until a time of day (ms). Negative: the time has passed. */
export function msUntil(timeOfDayMs: number): number {
  return timeOfDayMs - Date.now();
}

const RFC_3339 =
  /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.\d{1,9})?(?:[Zz]|[+-](\d{2}):(\d{2}))$/;

/** Reads a time in the form of RFC 3339 (ms since 1970). Undefined: not such a time, or no day of the calendar. */
export function readRfc3339(text: string): number | undefined {
  const [, year, month, day] = RFC_3339.exec(text) ?? [];
  const ms = Date.parse(text);
  if (day === undefined || Number.isNaN(ms)) return undefined;
  // Date.parse turns 30 February into 2 March.
  const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)));
  return date.getUTCDate() === Number(day) ? ms : undefined;
}

/** Reads the time of a certificate, such as `Nov 24 08:30:00 2026 GMT` (ms since 1970). */
export function readCertificateTime(text: string): number {
  return Date.parse(text);
}

export function showTimeOfDay(timeOfDayMs: number): string {
  return new Date(timeOfDayMs).toISOString();
}
