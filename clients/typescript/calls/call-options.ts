import { NUMBERS } from '../numbers';
import type { Known } from '../known-options';
import { toPositiveMs, type TimeSpan } from '../time-span';

/** Options of each call outside of the session. */
export interface CallOptions {
  /** Ends the call. The promise rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** The longest time of the call, repetitions included. Range: greater than 0. Default: 10 s. */
  readonly timeout?: TimeSpan | undefined;
}

/** Options of `Holdfast.call`. */
export interface RawCallOptions extends CallOptions {
  /** A second run does no harm, so the call is repeated after a broken connection too. Default: true. */
  readonly isIdempotent?: boolean | undefined;
}

/** Options of a stream that follows a state until the caller ends it. */
export interface WatchOptions {
  /** Ends the iteration without an error. */
  readonly signal?: AbortSignal | undefined;
}

export const CALL: Known<CallOptions> = { signal: true, timeout: true };
export const RAW_CALL: Known<RawCallOptions> = { ...CALL, isIdempotent: true };
export const WATCH: Known<WatchOptions> = { signal: true };

/** The first message of a watch comes within this time. Then the next server is tried. */
export const FIRST_MESSAGE_MS = NUMBERS.session.firstAnswerMs;

const { attemptShare, silenceMs } = NUMBERS.calls;

export function timeoutOf({ timeout }: CallOptions, byDefault: number = NUMBERS.limits.callMs): number {
  return timeout === undefined ? byDefault : toPositiveMs(timeout, 'timeout');
}

/**
 * The time of one attempt (ms). A call that may be repeated leaves a part of its time to the next attempts, because the
 * server may be silent.
 */
export function attemptMs(leftMs: number, isIdempotent: boolean): number {
  return isIdempotent ? Math.min(leftMs, Math.max(leftMs * attemptShare, silenceMs)) : leftMs;
}
