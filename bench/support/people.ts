import { between, oneOf, seeded, type Random } from '../../test/support/random';

/** An entry of the benchmarks' dictionaries. */
export interface Person {
  /** A name has lower-case ASCII letters and a space, so folding does not change the name. */
  readonly name: string;
  readonly weight: number;
}

const SEED = 20130601;
const ONSETS = 'b c d f g h j k l m n p r s t v w z br ch dr fr gr kl kr pl sch sh st th tr'.split(' ');
const VOWELS = 'a a a e e e i i o o u y ai ei ie ou'.split(' ');
const CODAS = [...new Array<string>(10).fill(''), ...'l n n r s t ck ng rt st'.split(' ')];
const FIRST_NAMES = 8_000;
const LAST_NAMES = 80_000;
const MOST_WEIGHT = 1_000_000;

let known: readonly Person[] = [];

/**
 * The first `count` people of a fixed sequence, with different names of about 18 letters. Frequencies of names and weights
 * follow Zipf's law, so short prefixes have a few long lists of matches and many short lists.
 */
export function people(count: number): readonly Person[] {
  if (known.length < count) known = generate(count);
  return known.slice(0, count);
}

function generate(count: number): Person[] {
  const random = seeded(SEED);
  const first = names(random, FIRST_NAMES, 2, 3);
  const last = names(random, LAST_NAMES, 2, 3);
  const taken = new Set<string>();
  const found: Person[] = [];
  while (found.length < count) {
    const name = `${frequentOf(random, first)} ${frequentOf(random, last)}`;
    const weight = Math.min(MOST_WEIGHT, Math.floor(1 / (1 - random())));
    if (taken.has(name)) continue;
    taken.add(name);
    found.push({ name, weight });
  }
  return found;
}

function names(random: Random, count: number, fewest: number, most: number): string[] {
  const made = new Set<string>();
  while (made.size < count) {
    const syllables = Array.from({ length: between(random, fewest, most) }, () => syllable(random));
    made.add(syllables.join(''));
  }
  return [...made];
}

function syllable(random: Random): string {
  return oneOf(random, ONSETS) + oneOf(random, VOWELS) + oneOf(random, CODAS);
}

/** Chooses the n-th value with a probability of about 1/n. */
function frequentOf(random: Random, all: readonly string[]): string {
  const name = all[Math.floor(all.length ** random()) - 1];
  if (name === undefined) throw new Error('the list of names is empty');
  return name;
}

export function entryIdOf(index: number): string {
  return `person-${index}`;
}
