const MIN_MARGIN_MS = 20;
const MAX_MARGIN_MS = 250;

/**
 * How long a call may wait so that its answer arrives before the call's deadline (docs/design/leases.md, rule 13). A
 * wait that ends with an answer resets no HTTP/2 stream. 0 or less: the call may only try once.
 */
export function answerWithinMs(timeoutMs: number | undefined): number {
  if (timeoutMs === undefined) return Infinity;
  return timeoutMs - Math.min(Math.max(timeoutMs / 10, MIN_MARGIN_MS), MAX_MARGIN_MS);
}
