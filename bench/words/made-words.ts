import { between, oneOf, seeded, type Random } from '../../test/support/random';

const ONSETS = 'b c d f g h j k l m n p r s t v w z br ch dr fr gr kl kr pl sch sh st th tr'.split(' ');
const VOWELS = 'a a a e e e i i o o u y ai ei ie ou'.split(' ');
const CODAS = [...new Array<string>(10).fill(''), ...'l n n r s t ck ng rt st'.split(' ')];
/** From ASCII letters to letters of another alphabet, so that generated words take two bytes for a letter. */
const OTHER_LETTERS = new Map(
  [...'abcdefghijklmnopqrstuvwyz'].map((letter, at) => [letter, 'абцдефгхийклмнопярстувщжз'[at]]),
);

/** Generates different words of two or three syllables, in ASCII or in Cyrillic letters. */
export function madeWords(seed: number, count: number, ascii: boolean): string[] {
  const random = seeded(seed);
  const made = new Set<string>();
  while (made.size < count) {
    const word = Array.from({ length: between(random, 2, 4) }, () => syllable(random)).join('');
    made.add(ascii ? word : [...word].map((letter) => OTHER_LETTERS.get(letter) ?? letter).join(''));
  }
  return [...made];
}

function syllable(random: Random): string {
  return oneOf(random, ONSETS) + oneOf(random, VOWELS) + oneOf(random, CODAS);
}
