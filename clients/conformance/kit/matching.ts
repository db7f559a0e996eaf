import { textOf } from './text';

/** Values that a case has remembered by `$name`. */
export type Remembered = Map<string, unknown>;

const OPERATORS = new Set(['min', 'max', 'above', 'not', 'any', 'items', 'contains']);

/**
 * Compares a value with the expectation of a case. Returns the first difference as a text, or undefined. Remembers new
 * `$names` only if the whole value matches.
 */
export function mismatch(expected: unknown, value: unknown, remembered: Remembered): string | undefined {
  const trial = new Map(remembered);
  const problem = compare(expected, value, trial, '');
  if (problem === undefined) for (const [name, one] of trial) remembered.set(name, one);
  return problem;
}

function compare(expected: unknown, value: unknown, known: Remembered, path: string): string | undefined {
  const where = path === '' ? 'the value' : path;
  const difference = `${where} is ${show(value)}, not ${show(expected)}`;
  if (typeof expected === 'string' && expected.startsWith('$')) {
    if (!known.has(expected) && value !== undefined) known.set(expected, value);
    return known.has(expected) && isSame(known.get(expected), value)
      ? undefined
      : `${difference}, which is ${show(known.get(expected))}`;
  }
  if (expected === '*') return value === undefined ? `${where} is absent` : undefined;
  if (expected === null) return value === undefined || value === null ? undefined : difference;
  if (Array.isArray(expected)) {
    if (!Array.isArray(value) || value.length !== expected.length) return difference;
    return firstProblem(expected.map((one, i) => compare(one, value[i], known, `${path}[${i}]`)));
  }
  if (typeof expected !== 'object') return isSame(expected, value) ? undefined : difference;
  const keys = Object.keys(expected);
  const wanted = expected as Record<string, unknown>;
  if (keys.length > 0 && keys.every((key) => OPERATORS.has(key)))
    return operator(wanted, value, known, difference);
  if (typeof value !== 'object' || value === null) return difference;
  const fields = value as Record<string, unknown>;
  return firstProblem(
    keys.map((key) => compare(wanted[key], fields[key], known, path === '' ? key : `${path}.${key}`)),
  );
}

function operator(
  { min, max, above, not, any, items, contains }: Record<string, unknown>,
  value: unknown,
  known: Remembered,
  difference: string,
): string | undefined {
  if (min !== undefined && !(Number(value) >= Number(min))) return difference;
  if (max !== undefined && !(Number(value) <= Number(max))) return difference;
  if (above !== undefined && !isAbove(value, known.get(textOf(above)))) return difference;
  if (items !== undefined && !(Array.isArray(value) && value.length === items)) return difference;
  if (contains !== undefined && !holds(value, textOf(contains))) return difference;
  if (not !== undefined && compare(not, value, new Map(known), '') === undefined) return difference;
  if (Array.isArray(any) && !any.some((one) => compare(one, value, known, '') === undefined))
    return difference;
  return undefined;
}

/** Tokens are texts, because they are greater than a number can be exactly. */
function isAbove(value: unknown, bound: unknown): boolean {
  if (typeof value !== 'string' || typeof bound !== 'string') return false;
  return BigInt(value) > BigInt(bound);
}

/** Sentences of different libraries agree in words, not in capitals. */
function holds(value: unknown, word: string): boolean {
  return typeof value === 'string' && value.toLowerCase().includes(word.toLowerCase());
}

function firstProblem(problems: readonly (string | undefined)[]): string | undefined {
  return problems.find((one) => one !== undefined);
}

function isSame(a: unknown, b: unknown): boolean {
  return a === b || (typeof a === 'object' && JSON.stringify(a) === JSON.stringify(b));
}

function show(value: unknown): string {
  return value === undefined ? 'absent' : JSON.stringify(value);
}
