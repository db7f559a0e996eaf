import type { CollectedRows } from '../build/collector';
import { compareForms, compareIds } from '../layer/packed-entry';
import { sortForms } from './suffix-sort';
import type { WorkMeter } from '../work';

/** Fewer entries are sorted by comparison. The radix sort needs a table of all digits. */
const MIN_RADIX_LENGTH = 4096;
/** Scores are sorted by digits of 16 bits. */
const DIGITS = 0x10000;

/** The live rows of a collector in the order of rank: score from high to low, then folded text, then id. */
export function rowsByRank(rows: CollectedRows, liveCount: number, meter: WorkMeter): Uint32Array {
  return liveCount < MIN_RADIX_LENGTH
    ? byComparison(rows, liveCount, meter)
    : byDigits(rows, liveCount, meter);
}

function byComparison(rows: CollectedRows, liveCount: number, meter: WorkMeter): Uint32Array {
  const { forms, formsAt, entries, entryAt } = rows;
  const order = liveRows(rows, liveCount);
  const scores = new Float64Array(rows.rowCount);
  for (const row of order) scores[row] = rows.scoreOf(row);
  return order.sort((a, b) => {
    meter.spend(1);
    const byScore = (scores[b] as number) - (scores[a] as number);
    if (byScore !== 0) return byScore;
    const byText = compareForms(forms, formsAt[a] as number, forms, formsAt[b] as number);
    if (byText !== 0) return byText;
    return compareIds(entries, entryAt[a] as number, entries, entryAt[b] as number);
  });
}

function byDigits(rows: CollectedRows, liveCount: number, meter: WorkMeter): Uint32Array {
  const order = rowsByText(rows, liveRows(rows, liveCount), meter);
  sortEqualTextsById(rows, order, meter);
  return sortByScore(rows, order, meter);
}

/** Rows without dead rows, in rising order. */
function liveRows(rows: CollectedRows, liveCount: number): Uint32Array {
  const live = new Uint32Array(liveCount);
  let count = 0;
  for (let row = 0; row < rows.rowCount; row++) if (rows.isLive(row)) live[count++] = row;
  return live;
}

function rowsByText(
  { forms, formsAt, rowCount }: CollectedRows,
  rows: Uint32Array,
  meter: WorkMeter,
): Uint32Array {
  const beginnings = rows.map((row) => {
    meter.spend(4);
    return formsAt[row] as number;
  });
  return sortForms(forms, beginnings, meter).map((beginning) => {
    meter.spend(8);
    return rowAt(formsAt, rowCount, beginning);
  });
}

/** The row of the forms that begin at this position. No row is without forms. */
function rowAt(formsAt: Uint32Array, rowCount: number, position: number): number {
  let low = 0;
  let high = rowCount;
  while (high - low > 1) {
    const middle = (low + high) >>> 1;
    if ((formsAt[middle] as number) <= position) low = middle;
    else high = middle;
  }
  return low;
}

function sortEqualTextsById(rows: CollectedRows, order: Uint32Array, meter: WorkMeter): void {
  const { forms, formsAt, entries, entryAt } = rows;
  const haveEqualTexts = (a: number, b: number): boolean =>
    compareForms(
      forms,
      formsAt[order[a] as number] as number,
      forms,
      formsAt[order[b] as number] as number,
    ) === 0;
  for (let index = 0; index < order.length;) {
    const first = index;
    do {
      index += 1;
      meter.spend(16);
    } while (index < order.length && haveEqualTexts(first, index));
    if (index - first === 1) continue;
    order.subarray(first, index).sort((a, b) => {
      meter.spend(8);
      return compareIds(entries, entryAt[a] as number, entries, entryAt[b] as number);
    });
  }
}

/** Sorts by score from high to low, and keeps the order of equal scores. */
function sortByScore(rows: CollectedRows, order: Uint32Array, meter: WorkMeter): Uint32Array {
  const scores = new Float64Array(rows.rowCount);
  let largest = 0;
  // In the order of arrival, because the records lie in this order.
  for (let row = 0; row < rows.rowCount; row++) {
    meter.spend(8);
    if (!rows.isLive(row)) continue;
    const score = rows.scoreOf(row);
    scores[row] = score;
    largest = Math.max(largest, score);
  }
  let from: Uint32Array = order;
  let to: Uint32Array = new Uint32Array(order.length);
  for (let unit = 1; unit <= largest; unit *= DIGITS) {
    sortByDigit(scores, unit, from, to, meter);
    [from, to] = [to, from];
  }
  return from;
}

/** Sorts by one digit from high to low, and keeps the order of equal digits. */
function sortByDigit(
  scores: Float64Array,
  unit: number,
  from: Uint32Array,
  to: Uint32Array,
  meter: WorkMeter,
): void {
  const digitOf = (row: number): number => Math.floor((scores[row] as number) / unit) % DIGITS;
  const starts = new Uint32Array(DIGITS);
  for (const row of from) {
    (starts[digitOf(row)] as number)++;
    meter.spend(2);
  }
  let start = 0;
  for (let digit = DIGITS - 1; digit >= 0; digit--) {
    const count = starts[digit] as number;
    starts[digit] = start;
    start += count;
  }
  for (const row of from) {
    const digit = digitOf(row);
    to[starts[digit] as number] = row;
    starts[digit] = (starts[digit] as number) + 1;
    meter.spend(4);
  }
}
