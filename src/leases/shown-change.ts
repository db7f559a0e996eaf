import { isDeepStrictEqual } from 'node:util';
import type { HolderView, ResourceView } from './lease';

/** Holders by their fencing tokens. */
export type HoldersByToken = ReadonlyMap<bigint, HolderView>;

/**
 * True if clients that know `before` and the holders `known` see the same state in `after`. A renewal is not a
 * change. A renewal moves only the end of a lease, and the place of its holder, because holders are in the order of
 * their ends.
 */
export function showSame(
  before: ResourceView,
  after: ResourceView,
  known: HoldersByToken = byToken(before.holders),
): boolean {
  return (
    before.limit === after.limit &&
    before.keptLimit === after.keptLimit &&
    before.usedCount === after.usedCount &&
    before.lastFencingToken === after.lastFencingToken &&
    before.holderCount === after.holderCount &&
    before.waiterCount === after.waiterCount &&
    isDeepStrictEqual(before.waiters, after.waiters) &&
    showSameHolders(known, after)
  );
}

export function byToken(holders: readonly HolderView[]): Map<bigint, HolderView> {
  return new Map(holders.map((holder) => [holder.fencingToken, holder]));
}

/**
 * Each new holder has a new token, and each end lowers the number of holders. So if there are more holders than a view shows,
 * an unknown holder is no change: renewals have moved it to the front. But an unknown holder that is revoked is a change.
 */
function showSameHolders(known: HoldersByToken, { holders, holderCount }: ResourceView): boolean {
  const areAllShown = holders.length === holderCount;
  return holders.every((holder) => {
    const earlier = known.get(holder.fencingToken);
    if (earlier === undefined) return !areAllShown && !holder.revoked;
    return isDeepStrictEqual({ ...earlier, expireTimeMs: holder.expireTimeMs }, holder);
  });
}
