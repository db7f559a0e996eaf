import { handOverTimes, type Grant } from '../support/statistics';

/** A grant with the begin of its wait, on the machine's monotonic clock (ms). */
export interface AwaitedGrant extends Grant {
  readonly askedAt: number;
}

/** A grant with the process of its waiter. */
export interface ContestGrant extends AwaitedGrant {
  readonly process: number;
}

/** Sorts by the time of the grant. */
function inTurn<Item extends AwaitedGrant>(grants: readonly Item[]): Item[] {
  return [...grants].sort((a, b) => a.grantedAt - b.grantedAt);
}

/** The times from each release to the next grant (ms). The last waiters are left out, because nobody took their places. */
export function handOversOf(grants: readonly AwaitedGrant[], waiters: number): number[] {
  return handOverTimes(inTurn(grants).slice(0, -waiters));
}

/**
 * The share of grants that overtook no wait that was known to be queued when their own wait began. Two waits that begin soon
 * after each other may reach the store in either order.
 */
export function shareInOrder(grants: readonly ContestGrant[]): number {
  const sorted = inTurn(grants);
  const queuedAt = queuedTimes(sorted);
  let earliest = Infinity;
  let inOrder = 0;
  for (const [index, { askedAt }] of [...sorted.entries()].reverse()) {
    if (earliest > askedAt) inOrder += 1;
    earliest = Math.min(earliest, queuedAt[index] ?? Infinity);
  }
  return inOrder / grants.length;
}

/**
 * When each wait was known to be queued, by the order of grants: its process has then sent a release after the wait
 * began, and this release has led to the next grant.
 */
function queuedTimes(sorted: readonly ContestGrant[]): number[] {
  const releases = new Map<number, { readonly releasedAt: number; readonly seenAt: number }[]>();
  for (const [index, { process, releasedAt }] of sorted.entries()) {
    const seenAt = sorted[index + 1]?.grantedAt ?? Infinity;
    const known = releases.get(process);
    if (known) known.push({ releasedAt, seenAt });
    else releases.set(process, [{ releasedAt, seenAt }]);
  }
  return sorted.map(({ process, askedAt }) => firstFrom(releases.get(process) ?? [], askedAt));
}

/** The effect of the first release from this time on. The releases of a lock are sorted, because it has one holder. */
function firstFrom(
  releases: readonly { readonly releasedAt: number; readonly seenAt: number }[],
  time: number,
): number {
  let [low, high] = [0, releases.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((releases[middle]?.releasedAt ?? Infinity) < time) low = middle + 1;
    else high = middle;
  }
  return releases[low]?.seenAt ?? Infinity;
}
