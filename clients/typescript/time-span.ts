/** A length of time: a number of milliseconds, or a text such as `'500ms'`, `'30s'`, `'5m'`, `'1.5h'`. */
export type TimeSpan = number | string;

const UNITS: ReadonlyMap<string, number> = new Map([
  ['ms', 1],
  ['s', 1000],
  ['m', 60_000],
  ['h', 3_600_000],
]);

/**
 * Converts to milliseconds. Throws a RangeError for a negative or unreadable value.
 *
 * @param option the option that has the value, for the text of the error
 */
export function toMs(span: TimeSpan, option: string): number {
  if (typeof span === 'number' && Number.isFinite(span) && span >= 0) return span;
  const [, number, unit] = (typeof span === 'string' && /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(span)) || [];
  if (number === undefined || unit === undefined) {
    throw new RangeError(
      `${option} must be milliseconds or a text such as "30s", not ${JSON.stringify(span)}`,
    );
  }
  return Number(number) * (UNITS.get(unit) ?? NaN);
}
