export class UsageError extends Error {
  override readonly name = 'UsageError';
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000 };

/** Converts a duration such as "5s" to milliseconds. Throws a UsageError for 0 and for any other text. */
export function readDuration(option: string, text: string): number {
  const [, number, unit] = /^(\d+(?:\.\d+)?)(ms|s|m)$/.exec(text) ?? [];
  const ms = Number(number) * (UNITS[unit ?? ''] ?? NaN);
  if (!(ms > 0)) throw new UsageError(`--${option} ${text}: expected a duration such as 5s or 250ms`);
  return ms;
}
