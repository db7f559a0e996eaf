/**
 * Counts the steps of this server, to compare what the store has confirmed. The replies of the store may be handled in
 * another order than the store has made them, so the reply that is handled last proves nothing.
 */
export class Moments {
  private last = 0;

  /** A number above all numbers before. */
  next(): number {
    this.last += 1;
    return this.last;
  }
}

/**
 * Whether a call speaks for its request since a later time than another call of the request that this server knows. The
 * store ran the known call's command before `since`. So if a command that was sent after `since` was answered to the call as
 * the speaker, the store has made the call the speaker later. Otherwise the order is unknown, and the call must ask the
 * store (docs/design/leases.md, rule 3).
 */
export function speaksLater(
  /** Taken before the send of the last command that the store has answered to the call as the speaker. */
  confirmedAt: number,
  /** `since`: taken when this server learned that the known call speaks. Undefined: there is no other call. */
  known: { readonly since: number } | undefined,
): boolean {
  return known === undefined || confirmedAt > known.since;
}
