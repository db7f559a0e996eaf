import { expireOffsetMs, type Lease } from '../../src/leases/lease';
import type { Pending } from './engine-fixture';

/** The lease that a call has reported to its client. */
export function leaseOf({ result, sink }: Pending<unknown>): Lease | undefined {
  const reported = sink.events.find((event) => event.kind === 'granted');
  return (result as Lease | undefined) ?? reported?.lease;
}

/** Ends the client's belief in its lease, without a message to the engine. */
export function stopBelieving(pending: Pending<unknown>): void {
  pending.sink.send({ kind: 'released' });
}

/**
 * The leases in which clients believe, by token. A belief ends at the offset, at a release or at a loss. A revocation does
 * not end the belief, because the client may not have received the event.
 */
export function believedLeases(calls: readonly Pending<unknown>[], now: number): Map<bigint, Lease> {
  const believed = new Map<bigint, Lease>();
  const ended = new Set<bigint>();
  for (const pending of calls) {
    const lease = leaseOf(pending);
    if (lease === undefined) continue;
    const { events } = pending.sink;
    const { receivedAt } = pending.call;
    const ends = [lease.end, ...events.flatMap((event) => (event.kind === 'renewed' ? [event.end] : []))];
    const offset = Math.max(...ends.map((end) => expireOffsetMs(receivedAt, end)));
    const isOver = events.some(
      (event) => event.kind === 'released' || (event.kind === 'lost' && event.cause !== 'revoked'),
    );
    if (isOver) ended.add(lease.fencingToken);
    if (receivedAt + offset > now) believed.set(lease.fencingToken, lease);
  }
  for (const token of ended) believed.delete(token);
  return believed;
}
