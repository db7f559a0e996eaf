/**
 * The own wall clock, for ages and times that people read. Times of the store are compared with this clock, so an age is
 * right to the difference of the two clocks. No decision depends on the wall clock.
 */
export function timeOfDayMs(): number {
  return Date.now();
}

/** "2026-11-26T14:02:11.345Z". */
export function timeOfDayText(ms = timeOfDayMs()): string {
  return new Date(ms).toISOString();
}

/** "12:03:20", in the time zone of the machine. */
export function clockText(ms: number): string {
  const time = new Date(ms);
  return [time.getHours(), time.getMinutes(), time.getSeconds()]
    .map((part) => String(part).padStart(2, '0'))
    .join(':');
}
