import type { SuffixIndex } from '../layer/layer';
import { compareForms } from '../layer/packed-entry';

/**
 * The first element of `beginnings` after `element` and before `to` with another form than `element`. The distance to the
 * examined elements doubles, so a short run of equal forms costs little.
 */
export function endOfEqualForms({ forms, beginnings }: SuffixIndex, element: number, to: number): number {
  const { positions } = beginnings;
  const form = positions[element] as number;
  const isEqual = (other: number) => compareForms(forms, form, forms, positions[other] as number) === 0;
  let equal = element;
  let distance = 1;
  while (equal + distance < to && isEqual(equal + distance)) {
    equal += distance;
    distance *= 2;
  }
  let different = Math.min(equal + distance, to);
  while (different - equal > 1) {
    const middle = (equal + different) >>> 1;
    if (isEqual(middle)) equal = middle;
    else different = middle;
  }
  return different;
}
