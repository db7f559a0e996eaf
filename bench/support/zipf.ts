import type { Random } from '../../test/support/random';

/** Draws numbers from 0 to below `count`. The n-th number is drawn n times less often than the first. */
export function zipf(count: number): (random: Random) => number {
  const sums = new Float64Array(count);
  let sum = 0;
  for (let index = 0; index < count; index += 1) sums[index] = sum += 1 / (index + 1);
  return (random) => {
    const at = random() * sum;
    let [low, high] = [0, count - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((sums[middle] ?? 0) > at) high = middle;
      else low = middle + 1;
    }
    return low;
  };
}
