import { fold } from '../../src/autocomplete/text/fold';
import { oneOf, seeded, type Random } from '../../test/support/random';
import type { Words } from './words';

/** The entries of a dictionary: the first `count` words, or names that are made of two words. */
export interface Corpus {
  readonly of: 'words' | 'names';
  readonly count: number;
}

export interface Item {
  /** Decimal digits: the position in the corpus. */
  readonly id: string;
  readonly text: string;
  readonly folded: string;
  readonly weight: number;
}

const SEED = 20130602;
const MOST_WEIGHT = 1_000_000;
/** Longest words in names (UTF-16 units), so that a name has about 18 bytes. */
const LONGEST = { first: 8, last: 9 };
/** Prime numbers above the length of a list, so that all last words of a first word are different. */
const STEPS = { first: 7_368_787, last: 1_000_003 };

export function corpusTitle({ of, count }: Corpus): string {
  return `${sizeName(count)} ${of}`;
}

export function sizeName(count: number): string {
  return count >= 1_000_000 ? `${count / 1_000_000} M` : `${count / 1000} k`;
}

/** The same items in each run. A smaller corpus is the start of a larger corpus. Folded texts are different. */
export function itemsOf(words: Words, { of, count }: Corpus): Generator<Item> {
  return of === 'words' ? wordItems(words, count) : nameItems(words, count);
}

/** About `size` items, evenly spread over the corpus. */
export function sampleOf(words: Words, corpus: Corpus, size: number): Item[] {
  const step = Math.max(1, Math.floor(corpus.count / size));
  const sample: Item[] = [];
  let index = 0;
  for (const item of itemsOf(words, corpus)) if (index++ % step === 0) sample.push(item);
  return sample;
}

function* wordItems({ lists }: Words, count: number): Generator<Item> {
  const random = seeded(SEED);
  for (let index = 0; index < count; index += 1) {
    const text = lists[index % lists.length]?.[Math.floor(index / lists.length)];
    if (text === undefined) throw new Error(`there are fewer than ${count} words`);
    yield { id: String(index), text, folded: fold(text, 'kept'), weight: weightOf(random) };
  }
}

interface NameParts {
  readonly first: readonly Part[];
  readonly last: readonly Part[];
  /** The number of names that each first word has so far. */
  readonly used: Uint32Array;
}

interface Part {
  readonly text: string;
  readonly folded: string;
}

function* nameItems({ lists }: Words, count: number): Generator<Item> {
  const random = seeded(SEED);
  const parts = lists.map(partsOf);
  for (let index = 0; index < count;) {
    const name = nextName(random, oneOf(random, parts));
    if (name === undefined) continue;
    yield { id: String(index), ...name, weight: weightOf(random) };
    index += 1;
  }
}

function partsOf(list: readonly string[]): NameParts {
  const part = (text: string): Part => ({ text, folded: fold(text, 'kept') });
  const first = list.filter((word) => word.length <= LONGEST.first).map(part);
  const last = list.filter((word) => word.length <= LONGEST.last).map(part);
  return { first, last, used: new Uint32Array(first.length) };
}

/** Frequent first words begin many names. Undefined: the first word has already begun a name with each last word. */
function nextName(random: Random, { first, last, used }: NameParts): Part | undefined {
  const at = Math.floor(first.length * random() ** 3);
  const turn = used[at] ?? 0;
  if (turn >= last.length) return undefined;
  used[at] = turn + 1;
  const [one, other] = [first[at], last[(at * STEPS.first + turn * STEPS.last) % last.length]];
  if (one === undefined || other === undefined) throw new Error('the lists have no short words');
  return { text: `${one.text} ${other.text}`, folded: `${one.folded} ${other.folded}` };
}

/** Follows Zipf's law: half of the weights are 1. */
function weightOf(random: Random): number {
  return Math.min(MOST_WEIGHT, Math.floor(1 / (1 - random())));
}
