import type { BystanderCounts } from '../../test/support/attacks/bystanders';

export function sum(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((total, count) => total + count, 0);
}

/** The counts as text, such as "(EXPIRED 3, REVOKED 1)". */
export function listed(counts: Readonly<Record<string, number>>): string {
  const parts = Object.entries(counts).map(([what, count]) => `${what} ${count}`);
  return parts.length === 0 ? '' : `(${parts.join(', ')})`;
}

/** The streams that were told of a loss, or ended, or were late. A late stream may also be told of its loss. */
export function disturbed({ lost, ended, late }: BystanderCounts): number {
  return Math.max(sum(lost) + sum(ended), late);
}
