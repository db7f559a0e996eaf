import type { IncomingHttpHeaders } from 'node:http2';

/** grpc-js computes timeouts in 32 bits. A timeout above 24.8 days overflows, and the call ends immediately. */
export const LONGEST_TIMEOUT_DAYS = 24;
const LONGEST_TIMEOUT_SECONDS = LONGEST_TIMEOUT_DAYS * 86_400;
const MS_OF_UNIT: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1000,
  m: 1,
  u: 1e-3,
  n: 1e-6,
};
/** The header has at most eight digits. */
const LARGEST_AMOUNT = 99_999_999;

/** The time within which the client wants its answer (ms). Undefined: the header `grpc-timeout` is absent or invalid. */
export function timeoutMs(headers: IncomingHttpHeaders): number | undefined {
  const timeout = headers['grpc-timeout'];
  if (typeof timeout !== 'string') return undefined;
  const perUnit = MS_OF_UNIT[timeout.charAt(timeout.length - 1)];
  if (perUnit === undefined) return undefined;
  const amount = Number.parseInt(timeout, 10);
  return Number.isNaN(amount) ? undefined : amount * perUnit;
}

/** Shortens a timeout that is too long for grpc-js. */
export function clampTimeout(headers: IncomingHttpHeaders): void {
  const ms = timeoutMs(headers);
  if (ms !== undefined && ms > LONGEST_TIMEOUT_SECONDS * 1000) {
    headers['grpc-timeout'] = `${LONGEST_TIMEOUT_SECONDS}S`;
  }
}

/** Subtracts the time that a call has waited from its timeout. A timeout of more than a day is not changed. */
export function shortenTimeout(headers: IncomingHttpHeaders, waitedMs: number): void {
  const ms = timeoutMs(headers);
  if (ms === undefined || ms > LARGEST_AMOUNT) return;
  headers['grpc-timeout'] = `${Math.max(1, Math.floor(ms - waitedMs))}m`;
}
