import type { Lease } from '../../src/engine/leases/lease';
import type { Pending } from './engine-fixture';

/** What a call of the engine has told its client of a lease. */
export function leaseOf({ result, sink }: Pending<unknown>): Lease | undefined {
  const told = sink.events.find((event) => event.kind === 'granted');
  return (result as Lease | undefined) ?? told?.lease;
}

/** Its client lets go; what the engine is to be told of that is the caller's. */
export function letGo(pending: Pending<unknown>): void {
  pending.sink.send({ kind: 'released' });
}

/** The leases that clients believe in: by their offsets, until they were let go or lost. Each once, by its token. */
export function believedLeases(calls: readonly Pending<unknown>[], now: number): Map<bigint, Lease> {
  const believed = new Map<bigint, Lease>();
  const over = new Set<bigint>();
  for (const pending of calls) {
    const lease = leaseOf(pending);
    if (lease === undefined) continue;
    const { events } = pending.sink;
    const offsets = events.map((event) => (event.kind === 'renewed' ? event.expireOffsetMs : 0));
    const offset = Math.max(lease.expireOffsetMs, ...offsets);
    if (events.some(({ kind }) => kind === 'lost' || kind === 'released')) over.add(lease.fencingToken);
    if (pending.call.receivedAt + offset > now) believed.set(lease.fencingToken, lease);
  }
  for (const token of over) believed.delete(token);
  return believed;
}
