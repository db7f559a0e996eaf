/** The time span in which a holder believed in a grant, from its receipt on. */
export interface Believed {
  /** The name of the lock or semaphore. Grants of different names are independent. */
  readonly name: string;
  /** The begin and the end of the time span, on `monotonicMs`. */
  readonly from: number;
  readonly to: number;
}

/**
 * Counts the grants that were received while as many holders as the limit allows already believed in grants of the name.
 * There are no false positives: a rightful holder has its permit from before the receipt until after the end.
 */
export function countOverIssued(grants: readonly Believed[], limit: number): number {
  const endsOf = new Map<string, number[]>();
  let count = 0;
  const inOrder = grants.filter(({ from, to }) => to > from).sort((a, b) => a.from - b.from);
  for (const { name, from, to } of inOrder) {
    const going = (endsOf.get(name) ?? []).filter((end) => end > from);
    if (going.length >= limit) count += 1;
    endsOf.set(name, [...going, to]);
  }
  return count;
}
