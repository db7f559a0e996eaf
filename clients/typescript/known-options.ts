import { invalidOption, textOfValue } from './time-span';

/** The options of a function. The type holds the list to the interface. */
export type Known<Options> = Readonly<Record<keyof Options, true>>;

/**
 * Throws an InvalidRequestError for a value that is no object, and a TypeError for an option that the function does not
 * have: a misspelled ttl would be the default in silence.
 */
export function checkedOptions<Options extends object>(options: Options, known: Known<Options>): Options {
  if (typeof options !== 'object' || options === null) {
    throw invalidOption('options', `an object, not ${textOfValue(options)}`);
  }
  for (const [name, value] of Object.entries(options)) {
    if (value !== undefined && !Object.hasOwn(known, name)) throw unknownOption(name, Object.keys(known));
  }
  return options;
}

/** As `checkedOptions`, for a function that can do without. */
export function checkedIfGiven<Options extends object>(
  options: Options | undefined,
  known: Known<Options>,
): Options | undefined {
  return options === undefined ? undefined : checkedOptions(options, known);
}

function unknownOption(name: string, known: readonly string[]): TypeError {
  const [nearest = ''] = [...known].sort((a, b) => distance(name, a) - distance(name, b));
  const isNear = distance(name, nearest) <= Math.max(2, nearest.length / 2);
  const advice = isNear ? `did you mean ${JSON.stringify(nearest)}?` : `the options are ${known.join(', ')}`;
  return new TypeError(`there is no option ${JSON.stringify(name.slice(0, LONGEST_NAME))}: ${advice}`);
}

const LONGEST_NAME = 50;

/** The number of letters to insert, delete or replace, without regard to case. */
function distance(given: string, known: string): number {
  const from = given.toLowerCase().slice(0, LONGEST_NAME);
  const to = known.toLowerCase();
  let row = Array.from({ length: to.length + 1 }, (_, j) => j);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, replaced));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
