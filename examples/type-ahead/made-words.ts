import { randomFrom } from '../marketplace/random';

const ONSETS = 'b c d f g h k l m n p r s t v w br ch cr dr fl gr pl sh st th tr'.split(' ');
const VOWELS = 'a e i o u ai ea oo ou'.split(' ');
const CODAS = ['', '', '', ...'l m n r s t ck nd ng rn st'.split(' ')];
const LENGTHS = [1, 2, 2, 2, 3, 3, 4];
const SEED = 1;

/** Words that nobody knows but everybody can say, each once; the same ones every time. */
export function* madeWords(count: number): Iterable<string> {
  const random = randomFrom(SEED);
  const one = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)] as T;
  const made = new Set<string>();
  while (made.size < count) {
    const syllables = Array.from({ length: one(LENGTHS) }, () => `${one(ONSETS)}${one(VOWELS)}${one(CODAS)}`);
    const word = syllables.join('');
    if (made.has(word)) continue;
    made.add(word);
    yield word;
  }
}
