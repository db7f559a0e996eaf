import type { Call } from '../base/call';

/**
 * The clocks of a client, a server and the store may differ in rate by this much (500 ppm). On a worse clock, or on a
 * suspended host, only the fencing token protects.
 */
const DRIFT = 0.0005;

/** The end of a lease, as a reply of the store has confirmed the end. */
export interface LeaseEnd {
  /** Monotonic time just before the command of the reply was sent (ms). */
  readonly sentAt: number;
  /** The store counts this time from a time after `sentAt` (ms). */
  readonly remainingMs: number;
}

/**
 * The `expire_offset` of a lease (ms), counted from a time at which the server received a message of the client: a call,
 * or a heartbeat of a session. The message may be older or newer than the command. DRIFT shortens the offset, so
 * `receivedAt` plus the offset is never later than the end of the lease. See docs/design/leases.md, rule 1.
 */
export function expireOffsetMs(receivedAt: number, { sentAt, remainingMs }: LeaseEnd): number {
  const lead = sentAt - receivedAt;
  return lead * (lead < 0 ? 1 + DRIFT : 1 - DRIFT) + remainingMs * (1 - DRIFT);
}

/**
 * The earliest possible end of the lease on this server's clock. The holder's client counts with its own clock, so the
 * client may believe in the lease for longer, until `latestEnd` at most.
 */
export function confirmedEnd({ sentAt, remainingMs }: LeaseEnd): number {
  return sentAt + remainingMs * (1 - DRIFT);
}

/**
 * The latest possible end of the lease on this server's clock. `repliedAt`: when the store's reply arrived. The store
 * has counted `remainingMs` from an earlier time, so the lease has ended in the store by then, and no client believes
 * in the lease: not even a client with a slower clock, or with a later answer to another call.
 */
export function latestEnd(repliedAt: number, remainingMs: number): number {
  return repliedAt + remainingMs * (1 + DRIFT);
}

/**
 * Whether the offset of a lease has passed. Such a lease must not be reported any more. In a session
 * drift does not add up during a long wait, because the offsets count from the latest heartbeat.
 */
export function hasOffsetPassed(
  { receivedAt, session }: Pick<Call, 'receivedAt' | 'session'>,
  end: LeaseEnd,
  now: number,
): boolean {
  const from = session?.signs.lastAt ?? receivedAt;
  return from + expireOffsetMs(from, end) <= now;
}
