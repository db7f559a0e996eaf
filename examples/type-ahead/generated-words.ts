import { randomFrom } from '../marketplace/random';

const ONSETS = 'b c d f g h k l m n p r s t v w br ch cr dr fl gr pl sh st th tr'.split(' ');
const VOWELS = 'a e i o u ai ea oo ou'.split(' ');
const CODAS = ['', '', '', ...'l m n r s t ck nd ng rn st'.split(' ')];
const LENGTHS = [1, 2, 2, 2, 3, 3, 4];
const SEED = 1;

/** Generates different pronounceable words. Every run generates the same words. */
export function* generatedWords(count: number): Iterable<string> {
  const random = randomFrom(SEED);
  const oneOf = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
  const words = new Set<string>();
  while (words.size < count) {
    const syllables = Array.from(
      { length: oneOf(LENGTHS) },
      () => `${oneOf(ONSETS)}${oneOf(VOWELS)}${oneOf(CODAS)}`,
    );
    const word = syllables.join('');
    if (words.has(word)) continue;
    words.add(word);
    yield word;
  }
}
