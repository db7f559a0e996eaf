/**
 * Clock rates may differ by this much (500 ppm) between a client, a server and the store. Beyond that, or on
 * a suspended host, only the fencing token protects.
 */
const DRIFT = 0.0005;

/**
 * How long after `receivedAt` a lease ends (ms): the time until the command was sent whose reply told what
 * remains, plus what remained. The command was sent before the store read its clock, and both spans are
 * shortened by the drift, so the offset is never later than the truth. Nothing else may be its base: not
 * the time the reply came, nor a notification, nor another server's reply.
 */
export function expireOffsetMs(receivedAt: number, sentAt: number, remainingMs: number): number {
  return (sentAt - receivedAt + remainingMs) * (1 - DRIFT);
}

/** When the lease ends at the earliest, on this server's own clock. */
export function confirmedEnd(sentAt: number, remainingMs: number): number {
  return sentAt + remainingMs * (1 - DRIFT);
}
