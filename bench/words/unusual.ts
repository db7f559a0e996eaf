import { between, oneOf, seeded, type Random } from '../../test/support/random';
import type { Item } from './corpus';
import type { Words } from './words';

/** Entries with unusual texts, which make the most work for a build. */
export const UNUSUAL = ['sentences', 'repeats', 'aliases', 'expansions'] as const;
export type Unusual = (typeof UNUSUAL)[number];

const SEED = 20130603;
const SENTENCE = 200;
const REPEATS = 512;
const ALIASES = 16;
/** One character of 3 bytes, whose compatible form has 18 characters and 33 bytes. */
const EXPANDING = '\uFDFA';
const EXPANDED = 'صلى الله عليه وسلم';
/** The folded text has at most 2 KiB. */
const MOST_EXPANDING = 60;

type Text = Pick<Item, 'text' | 'folded' | 'aliases'>;

function sameText(text: string): Text {
  return { text, folded: text };
}

function wordsUntil(random: Random, words: readonly string[], length: number): string {
  let text = oneOf(random, words);
  while (text.length < length) text += ` ${oneOf(random, words)}`;
  return text;
}

const MAKERS: Record<Unusual, (random: Random, words: readonly string[]) => Text> = {
  /** Sentences of about 200 characters. */
  sentences: (random, words) => sameText(wordsUntil(random, words, SENTENCE)),
  /** Up to 512 times the same letter, so that many forms are equal. */
  repeats: (random) => sameText('a'.repeat(between(random, REPEATS / 2, REPEATS))),
  /** Names of two words with 16 aliases. */
  aliases: (random, words) => {
    const name = () => `${oneOf(random, words)} ${oneOf(random, words)}`;
    return { ...sameText(name()), aliases: Array.from({ length: ALIASES }, name) };
  },
  /** Up to 60 characters, which fold to 1,980 bytes. */
  expansions: (random) => {
    const count = between(random, 1, MOST_EXPANDING);
    return { text: EXPANDING.repeat(count), folded: EXPANDED.repeat(count) };
  },
};

export function* unusualItems({ lists }: Words, of: Unusual, count: number): Generator<Item> {
  const random = seeded(SEED);
  const [words] = lists;
  if (words === undefined) throw new Error('there are no words');
  const lower = words.map((word) => word.toLowerCase());
  for (let index = 0; index < count; index += 1) {
    yield { id: String(index), ...MAKERS[of](random, lower), weight: 1 };
  }
}
