import { isDeepStrictEqual } from 'node:util';
import type { HolderView, ResourceView } from './lease';

/**
 * True if clients see the same state in both views. A renewal is no change: it moves only the end of a lease, and the
 * place of its holder, because holders are in the order of their ends.
 */
export function showSame(before: ResourceView, after: ResourceView): boolean {
  return (
    before.limit === after.limit &&
    before.usedCount === after.usedCount &&
    before.lastFencingToken === after.lastFencingToken &&
    before.holderCount === after.holderCount &&
    before.waiterCount === after.waiterCount &&
    isDeepStrictEqual(before.waiters, after.waiters) &&
    haveSameHolders(before, after)
  );
}

/**
 * Compares the holders that both views show. Each new holder has a new token, and each end lowers the number of holders,
 * so holders that only one view shows are no change: the renewals of many holders have changed their order.
 */
function haveSameHolders(before: ResourceView, after: ResourceView): boolean {
  const known = new Map(before.holders.map((holder) => [holder.fencingToken, holder]));
  const inBoth = after.holders.filter(({ fencingToken }) => known.has(fencingToken));
  const areAllShown = after.holders.length === after.holderCount;
  if (areAllShown && inBoth.length < after.holders.length) return false;
  return inBoth.every((holder) => {
    const earlier = known.get(holder.fencingToken) as HolderView;
    return isDeepStrictEqual({ ...earlier, expireTimeMs: holder.expireTimeMs }, holder);
  });
}
