/** The times from each release to the next grant (ms), for grants of one lock in the order of the grants. */
export function handOverTimes(
  grants: readonly { readonly grantedAt: number; readonly releasedAt: number }[],
): number[] {
  return grants.slice(1).flatMap(({ grantedAt }, index) => {
    const before = grants[index];
    return before === undefined ? [] : [grantedAt - before.releasedAt];
  });
}
