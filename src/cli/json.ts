import { escapeJson } from '../base/escape-text';
import { timeOfDayText } from './time-of-day';

/** The fields of the contract that are a Timestamp and a Duration. */
const TIMESTAMP = /Time$/;
const DURATION = /(^age|ttl|Ttl|Duration|Offset|Interval|Timeout|Staleness|Age|Delay)$/;

interface Parts {
  readonly seconds?: string;
  readonly nanos?: number;
}

/**
 * A message as text in the JSON form of protobuf. The generated code writes times and durations as seconds and
 * nanoseconds; the JSON form has "2026-11-26T14:02:11.345Z" and "1.500s". Names and labels are texts of others, so
 * controls and invisible characters are escaped.
 */
export function jsonText(value: unknown, indent?: number): string {
  return escapeJson(JSON.stringify(value, replace, indent));
}

function replace(key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (TIMESTAMP.test(key)) return timestampText(value);
  if (DURATION.test(key)) return durationText(value);
  return value;
}

function timestampText({ seconds = '0', nanos = 0 }: Parts): string {
  const [whole = ''] = timeOfDayText(Number(seconds) * 1000).split('.');
  return `${whole}${fraction(nanos)}Z`;
}

function durationText({ seconds = '0', nanos = 0 }: Parts): string {
  const sign = seconds.startsWith('-') || nanos < 0 ? '-' : '';
  return `${sign}${seconds.replace('-', '')}${fraction(Math.abs(nanos))}s`;
}

/** "", ".345", ".345678" or ".345678901". */
function fraction(nanos: number): string {
  if (nanos === 0) return '';
  return `.${String(nanos)
    .padStart(9, '0')
    .replace(/(000){1,2}$/, '')}`;
}
