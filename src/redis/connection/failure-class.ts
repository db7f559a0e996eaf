/** What became of a command that failed, from how it failed. */

export const TIMED_OUT = 'Command timed out';

/** Refused before a script's first line: certainly not carried out. */
const refusals = /^(LOADING|MISCONF|BUSY|NOREPLICAS|NOAUTH|NOPERM)\b/;
/** Likewise, and where there are several nodes another one may take it, or this one a moment later. */
const turnings = /^(MOVED|ASK|TRYAGAIN|CLUSTERDOWN|READONLY|MASTERDOWN)\b/;

/** Redis's own word, as against the connection's (ioredis exports the class untyped). */
export function isReplyError(error: unknown): error is Error {
  return error instanceof Error && error.name === 'ReplyError';
}

export type FailureClass =
  'refused' | 'turned-away' | 'full' | 'not-written' | 'cut' | 'timed-out' | 'defect';

export function failureClassOf(error: unknown): FailureClass {
  if (isReplyError(error)) {
    if (error.message.startsWith('OOM')) return 'full';
    if (turnings.test(error.message)) return 'turned-away';
    return refusals.test(error.message) ? 'refused' : 'defect';
  }
  if (!(error instanceof Error)) return 'defect';
  if (error.message.startsWith("Stream isn't writeable")) return 'not-written';
  return error.message === TIMED_OUT ? 'timed-out' : 'cut';
}
