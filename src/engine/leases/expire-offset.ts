/**
 * The clocks of a client, a server and the store may differ in rate by this much (500 ppm). On a worse clock, or on a
 * suspended host, only the fencing token protects.
 */
const DRIFT = 0.0005;

/**
 * How long after `receivedAt` a lease ends (ms). `sentAt` is the time just before the server sent the very command
 * with the reply that told `remainingMs`. The store reads its clock later than that, and drift shortens both spans,
 * so the offset never ends after the lease. See docs/design/leases.md, rule 1.
 */
export function expireOffsetMs(receivedAt: number, sentAt: number, remainingMs: number): number {
  return (sentAt - receivedAt + remainingMs) * (1 - DRIFT);
}

/** The earliest possible end of the lease on this server's own clock. */
export function confirmedEnd(sentAt: number, remainingMs: number): number {
  return sentAt + remainingMs * (1 - DRIFT);
}

/** Whether a lease's offset from `receivedAt` has passed: the lease must not be reported any more. */
export function hasOffsetPassed(
  receivedAt: number,
  { sentAt, remainingMs }: { readonly sentAt: number; readonly remainingMs: number },
  now: number,
): boolean {
  return receivedAt + expireOffsetMs(receivedAt, sentAt, remainingMs) <= now;
}
