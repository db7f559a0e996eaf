import { lossCauseToJSON, type LossCause } from '../../generated/typescript/holdfast/v1/lease';

/** A duration as text: `0.8 ms`, `23 ms`, `4.8 s`. */
export function spanText(ms: number): string {
  if (ms >= 1000) return `${(ms / 1000).toFixed(1)} s`;
  return `${ms.toFixed(ms < 10 ? 1 : 0)} ms`;
}

/** The increase of the fencing token from one holder to the next, as text. */
export function riseText(before: bigint | undefined, token: bigint): string {
  if (before === undefined) return `token ${token}, the first in this ledger`;
  return `token ${before} → ${token} (+${(token - before).toLocaleString('en')})`;
}

/** The name of a cause without the prefix of the enum: `EXPIRED`, `STORE_RESET`. */
export function causeText(cause: LossCause): string {
  return lossCauseToJSON(cause).replace('LOSS_CAUSE_', '');
}
