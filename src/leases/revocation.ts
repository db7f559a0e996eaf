import type { Call } from '../base/call';
import { StoreFailure } from '../base/errors';
import type { Resource } from './lease';
import * as errors from './lease-errors';
import type { LeaseContext } from './lease-context';
import type { RevokeCursor, RevokeReply } from './lease-store';
import type { RevokeRequest, RevokeResult } from './lease-requests';

/** The longest time of one revocation. A step visits 64 leases in about a millisecond. */
const MAX_DURATION_MS = 60_000;

/**
 * Revokes leases, or takes a waiter out of the queue, in bounded steps. A failure after a step that has revoked leases gives
 * OUTCOME_UNKNOWN: the caller repeats the call.
 */
export async function revoke(
  { store, clock, meters }: LeaseContext,
  call: Call,
  resource: Resource,
  { target, force }: RevokeRequest,
): Promise<RevokeResult> {
  const giveUpAt = clock.now() + MAX_DURATION_MS;
  let revokedCount = 0;
  let freeTimeMs: number | undefined;
  let after: RevokeCursor | undefined;
  do {
    const command = { target, force, after, caller: call.connection };
    const reply: RevokeReply = await store.revoke(resource, command).catch((error: unknown) => {
      throw failureOf(error, resource, revokedCount);
    });
    if (reply.kind === 'unknown-resource') {
      if (resource.service === 'lock' || revokedCount > 0) break;
      throw errors.noSuchSemaphore(resource, 'there is nothing to revoke');
    }
    revokedCount += reply.count;
    meters[resource.service].revokedCount += reply.count;
    if (reply.latestEndMs !== undefined) freeTimeMs = Math.max(freeTimeMs ?? 0, reply.latestEndMs);
    after = reply.next;
    if (after && (call.cancelled || clock.now() > giveUpAt)) throw errors.notAnswered(resource, 'same call');
  } while (after);
  return { revokedCount, freeTimeMs };
}

function failureOf(error: unknown, resource: Resource, revokedCount: number): unknown {
  const isPartlyDone = revokedCount > 0 && error instanceof StoreFailure;
  return isPartlyDone
    ? errors.notAnswered(resource, 'same call')
    : errors.translateStoreFailure(error, resource, 'same call');
}
