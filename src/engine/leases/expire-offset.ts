/**
 * The clocks of a client, a server and the store may differ in rate by this much (500 ppm). On a worse clock, or on a
 * suspended host, only the fencing token protects.
 */
const DRIFT = 0.0005;

/**
 * How long after `receivedAt` a lease ends (ms). `sentAt` is the time just before the server sent the command, and
 * `remainingMs` comes from the reply to this command. The store reads its clock after `sentAt`, and the offset is
 * shortened by DRIFT. So the offset never ends after the lease. See docs/design/leases.md, rule 1.
 */
export function expireOffsetMs(receivedAt: number, sentAt: number, remainingMs: number): number {
  return (sentAt - receivedAt + remainingMs) * (1 - DRIFT);
}

/** The earliest possible end of the lease on this server's own clock. */
export function confirmedEnd(sentAt: number, remainingMs: number): number {
  return sentAt + remainingMs * (1 - DRIFT);
}

/** Whether the offset of a lease has passed. Such a lease must not be reported any more. */
export function hasOffsetPassed(
  receivedAt: number,
  { sentAt, remainingMs }: { readonly sentAt: number; readonly remainingMs: number },
  now: number,
): boolean {
  return receivedAt + expireOffsetMs(receivedAt, sentAt, remainingMs) <= now;
}
