import { lossCauseToJSON, type LossCause } from '../../generated/typescript/holdfast/v1/lease';

/** A span for people: `0.8 ms`, `23 ms`, `4.8 s`. */
export function spanText(ms: number): string {
  if (ms >= 1000) return `${(ms / 1000).toFixed(1)} s`;
  return `${ms.toFixed(ms < 10 ? 1 : 0)} ms`;
}

/** How the fencing token rose from one holder to the next. */
export function riseText(before: bigint | undefined, token: bigint): string {
  if (before === undefined) return `token ${token}, the first in this ledger`;
  return `token ${before} → ${token} (+${(token - before).toLocaleString('en')})`;
}

/** `EXPIRED`, `STORE_RESET` and so on: the word without the prefix of the enum. */
export function causeText(cause: LossCause): string {
  return lossCauseToJSON(cause).replace('LOSS_CAUSE_', '');
}
