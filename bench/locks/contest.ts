import { handOverTimes, type Grant } from '../support/statistics';

/** Waits that begin within this time may reach a store in either order (ms). The time is that of a call on busy cores. */
const LEEWAY_MS = 5;

/** A grant with the begin of its wait, on the machine's monotonic clock (ms). */
export interface AwaitedGrant extends Grant {
  readonly askedAt: number;
}

/** Sorts by the time of the grant. */
function inTurn(grants: readonly AwaitedGrant[]): AwaitedGrant[] {
  return [...grants].sort((a, b) => a.grantedAt - b.grantedAt);
}

/** The times from each release to the next grant (ms). The last waiters are left out, because nobody took their places. */
export function handOversOf(grants: readonly AwaitedGrant[], waiters: number): number[] {
  return handOverTimes(inTurn(grants).slice(0, -waiters));
}

/** The share of grants that went to a waiter who had waited longest. */
export function shareInOrder(grants: readonly AwaitedGrant[]): number {
  let earliest = Infinity;
  let inOrder = 0;
  for (const { askedAt } of inTurn(grants).reverse()) {
    if (earliest >= askedAt - LEEWAY_MS) inOrder += 1;
    earliest = Math.min(earliest, askedAt);
  }
  return inOrder / grants.length;
}
