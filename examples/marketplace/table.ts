import type { Round } from './round';

/** The title and the width of each column. */
const COLUMNS = [
  ['mode', 6],
  ['listed', 6],
  ['bought', 6],
  ['a second', 8],
  ['median', 7],
  ['p99', 7],
  ['lock', 7],
  ['retries', 7],
  ['gone', 6],
  ['given up', 8],
  ['pauses', 6],
  ['late', 4],
  ['refused', 7],
] as const;

export const LEGEND = [
  'median, p99: time of a purchase, from the first choice, with failed attempts; lock: median time to get a lock',
  'retries: failed WATCHes; gone: another buyer was faster; given up: wait timed out',
  'pauses: stopped on purpose for two ttls; late: stopped at the deadline; refused: stopped by the fencing token',
].join('\n');

export function headText(): string {
  return lineOf(COLUMNS.map(([head]) => head));
}

export function roundText({ strategy, tally }: Round): string {
  const { outcomes, times, lockTimes, listed, retries, pauses, openMs } = tally;
  const number = (value: number) => value.toLocaleString('en', { maximumFractionDigits: 0 });
  return lineOf([
    strategy,
    number(listed),
    number(outcomes.done),
    number((times.length * 1000) / openMs),
    timeText(times, 0.5),
    timeText(times, 0.99),
    timeText(lockTimes, 0.5),
    ...[retries, outcomes.gone, outcomes.contended, pauses, outcomes.late, outcomes.refused].map(number),
  ]);
}

function lineOf(cells: readonly string[]): string {
  const padded = COLUMNS.map(([, width], column) => {
    const cell = cells[column] ?? '';
    return column === 0 ? cell.padEnd(width) : cell.padStart(width);
  });
  return padded.join('  ');
}

/** The nearest-rank percentile as text. */
function timeText(times: readonly number[], share: number): string {
  const sorted = [...times].sort((a, b) => a - b);
  const found = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
  return found === undefined ? '-' : spanText(found);
}

/** A duration as text: `0.8 ms`, `23 ms`, `4.8 s`. */
function spanText(ms: number): string {
  if (ms >= 1000) return `${(ms / 1000).toFixed(1)} s`;
  return `${ms.toFixed(ms < 10 ? 1 : 0)} ms`;
}
