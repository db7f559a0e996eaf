import type { Patch } from '../build-variant';

const LAYOUT = 'src/leases/scripts/shared/layout.lua';

const bounds: readonly [name: string, usual: number, small: number][] = [
  ['BATCH', 64, 3],
  ['MAX_OFFERS', 256, 3],
  ['MOST_TICKETS', 10_000, 3],
  ['MOST_WATCHERS', 64, 1],
  ['MOST_INLINE', 16, 2],
  ['FEW_INLINE', 8, 1],
  ['MOST_PAST', 10_000, 3],
];

/** Scripts of leases with small bounds (shared/layout.lua), so that random histories pass these bounds often. */
export const smallBounds: readonly Patch[] = bounds.map(([name, usual, small]) => ({
  file: LAYOUT,
  find: `local ${name} = ${usual}`,
  replace: `local ${name} = ${small}`,
}));
