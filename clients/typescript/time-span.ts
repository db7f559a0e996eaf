import { status } from '@grpc/grpc-js';
import { InvalidRequestError } from './errors';

/** A length of time: a number of milliseconds, or a text such as `'500ms'`, `'30s'`, `'5m'`, `'1.5h'`. */
export type TimeSpan = number | string;

/** The greatest Duration of the contract, 10,000 years. */
const LONGEST_MS = 315_576_000_000_000;

const UNITS: ReadonlyMap<string, number> = new Map([
  ['ms', 1],
  ['s', 1000],
  ['m', 60_000],
  ['h', 3_600_000],
]);

/**
 * Converts to milliseconds. Throws an InvalidRequestError for a negative, unreadable or too long value.
 *
 * @param option the option that has the value, for the text of the error
 */
export function toMs(span: TimeSpan, option: string): number {
  const ms = typeof span === 'number' ? span : msOf(span);
  if (ms >= 0 && ms <= LONGEST_MS) return ms;
  throw invalidOption(option, `milliseconds or a text such as "30s", not ${textOfValue(span)}`);
}

/** As `toMs`, for a time that may not be 0: a lease with a maxHold of 0 would be lost at once. */
export function toPositiveMs(span: TimeSpan, option: string): number {
  const ms = toMs(span, option);
  if (ms === 0) throw invalidOption(option, 'greater than 0');
  return ms;
}

/** A value of the caller, for the text of an error. Not each object can become a text. */
export function textOfValue(value: unknown): string {
  const kind: string = typeof value;
  if (kind === 'string') return JSON.stringify(value);
  if (value !== null && (kind === 'object' || kind === 'function')) return kind;
  return String(value);
}

/** The error of an option of the caller, as the server would refuse the field. */
export function invalidOption(option: string, allowed: string): InvalidRequestError {
  const violations = [{ field: option, description: `must be ${allowed}` }];
  const facts = { reason: 'INVALID_FIELD', code: status.INVALID_ARGUMENT, violations };
  return new InvalidRequestError(`${option} must be ${allowed}`, facts);
}

/** NaN for an unreadable text, and for a value that is no text. */
function msOf(span: unknown): number {
  const [, number, unit] = (typeof span === 'string' && /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(span)) || [];
  return unit === undefined ? NaN : Number(number) * (UNITS.get(unit) ?? NaN);
}
