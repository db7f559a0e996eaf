import type { WorkMeter } from '../work';

/**
 * A tree of minima over a list of numbers. The first level is the list itself. Each element of a further level is the
 * minimum of 32 neighbours in the level before; the last element may have fewer neighbours. The last level has at most
 * 32 elements.
 */

const FAN_OUT = 32;

/** The lengths of the levels over a list of this length, without the list itself. */
export function minimaLengths(listLength: number): number[] {
  const lengths: number[] = [];
  for (let length = listLength; length > FAN_OUT;) {
    length = Math.ceil(length / FAN_OUT);
    lengths.push(length);
  }
  return lengths;
}

/** Fills all levels except the first. */
export function fillMinima(levels: readonly Uint32Array[], meter: WorkMeter): void {
  for (let level = 1; level < levels.length; level++) {
    const below = levels[level - 1] as Uint32Array;
    const minima = levels[level] as Uint32Array;
    for (let index = 0; index < minima.length; index++) {
      minima[index] = below[lowestBelow(below, index)] as number;
      meter.spend(FAN_OUT);
    }
  }
}

/** The index of the lowest number in the interval [from, to) of the list. The interval must not be empty. */
export function rangeMinimum(levels: readonly Uint32Array[], from: number, to: number): number {
  let low = from;
  let high = to;
  let bestLevel = 0;
  let best = from;
  const consider = (level: number, start: number, end: number): void => {
    if (start >= end) return;
    const numbers = levels[level] as Uint32Array;
    const lowest = lowestIn(numbers, start, end);
    if ((numbers[lowest] as number) >= ((levels[bestLevel] as Uint32Array)[best] as number)) return;
    bestLevel = level;
    best = lowest;
  };
  let level = 0;
  for (; high - low > FAN_OUT; level++) {
    // The ends of the interval are not whole groups of 32 neighbours. The next level has the minima of whole groups.
    const firstGroup = Math.ceil(low / FAN_OUT);
    const groupsEnd = Math.floor(high / FAN_OUT);
    consider(level, low, firstGroup * FAN_OUT);
    consider(level, groupsEnd * FAN_OUT, high);
    low = firstGroup;
    high = groupsEnd;
  }
  consider(level, low, high);
  for (; bestLevel > 0; bestLevel--) best = lowestBelow(levels[bestLevel - 1] as Uint32Array, best);
  return best;
}

/** The index of the lowest number among the neighbours with this minimum. */
function lowestBelow(below: Uint32Array, minimum: number): number {
  return lowestIn(below, minimum * FAN_OUT, Math.min((minimum + 1) * FAN_OUT, below.length));
}

/** The index of the lowest number in [from, to). */
function lowestIn(numbers: Uint32Array, from: number, to: number): number {
  let best = from;
  for (let index = from + 1; index < to; index++) {
    if ((numbers[index] as number) < (numbers[best] as number)) best = index;
  }
  return best;
}
