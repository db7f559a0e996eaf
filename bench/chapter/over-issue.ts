/** One grant as its holder saw it: from its receipt to the last moment at which it believed in it. */
export interface Believed {
  /** What was granted: grants of different names have nothing to do with each other. */
  readonly name: string;
  /** On `monotonicMs`. */
  readonly from: number;
  readonly to: number;
}

/**
 * Counts the grants that were received while so many of the same name were believed as the limit allows. It
 * accuses nobody falsely: who believes rightly has its permit from before the receipt until after the end.
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
