import type { Figure, Goal } from '../rows/row';

/** The number with three significant digits. */
export function shown(value: number): string {
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 100) return Math.round(value).toLocaleString('en');
  return value.toFixed(size >= 10 ? 1 : size >= 1 ? 2 : 3);
}

function withUnit(value: number, unit: string): string {
  return unit === '' ? shown(value) : `${shown(value)} ${unit}`;
}

export function shownMedian({ value, unit, text }: Figure): string {
  return text ?? withUnit(value.median, unit);
}

export function shownSpread({ value }: Figure): string {
  return value.rounds.length < 2 ? '' : `${shown(value.low)} to ${shown(value.high)}`;
}

/** The goal and whether the number meets the goal, such as "≤ 1.40 ×: not yet (≤ 1.80 for now: met)". */
export function shownGoal({ value, unit, goal }: Figure): string {
  if (goal === undefined) return '';
  const { sign, bound } = boundOf(goal);
  const within = (limit: number) => (sign === '≤' ? value.median <= limit : value.median >= limit);
  const text = `${sign} ${withUnit(bound, unit)}`;
  if (within(bound)) return `${text}: met`;
  if (goal.bar === undefined) return `${text}: not met`;
  return `${text}: not yet; for now ${sign} ${shown(goal.bar)}: ${within(goal.bar) ? 'met' : 'not met'}`;
}

function boundOf({ most, least }: Goal): { sign: '≤' | '≥'; bound: number } {
  if (most !== undefined) return { sign: '≤', bound: most };
  if (least !== undefined) return { sign: '≥', bound: least };
  throw new Error('a goal without a bound');
}
