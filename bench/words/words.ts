import { createReadStream } from 'node:fs';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fold } from '../../src/autocomplete/text/fold';
import { between, seeded, type Random } from '../../test/support/random';
import { cachePath, unpackedPackages } from './debian-packages';
import { madeWords } from './made-words';

/** The words of one list: a language, and whether all letters are ASCII. Equally long lists make half of all words ASCII. */
const LISTS = [
  { file: 'american-english-insane', ascii: true },
  { file: 'ngerman', ascii: true },
  { file: 'french', ascii: true },
  { file: 'portuguese', ascii: true },
  { file: 'ngerman', ascii: false },
  { file: 'french', ascii: false },
  { file: 'portuguese', ascii: false },
  { file: 'bulgarian', ascii: false },
] as const;
const PACKAGES = ['wamerican-insane', 'wngerman', 'wfrench', 'wportuguese', 'wbulgarian'] as const;
const EACH = 27_500;
const SEED = 20130601;
const ASCII = /^[\0-\x7f]*$/;
const WORD = /^\p{L}[\p{L}'-]+$/u;

export const WORD_COUNT = LISTS.length * EACH;

/** 220,000 different words. Half of them are not ASCII. */
export interface Words {
  readonly source: string;
  /** Lists of the same length in random order, one for each language and alphabet. */
  readonly lists: readonly (readonly string[])[];
}

let known: Promise<Words> | undefined;

/** The words of the cache, or generated words if the cache has none. Every process gets the same words. */
export function words(): Promise<Words> {
  return (known ??= cached().then((found) => found ?? generated()));
}

/** Fetches the words, if the cache lacks them. */
export async function prepareWords(say: (text: string) => void): Promise<void> {
  const file = await cacheFile();
  if (file === undefined || (await cached()) !== undefined) return;
  say(`fetching Debian's packages ${PACKAGES.join(', ')}`);
  const unpacked = await unpackedPackages('word-lists', PACKAGES);
  if ('missing' in unpacked) {
    say(`${unpacked.missing}; the words are generated instead`);
    return;
  }
  const selected = await select(join(unpacked.folder, 'usr', 'share', 'dict'));
  await writeFile(`${file}.new`, JSON.stringify(selected));
  await rename(`${file}.new`, file);
}

async function cacheFile(): Promise<string | undefined> {
  const path = await cachePath('words');
  return path && `${path}.json`;
}

async function cached(): Promise<Words | undefined> {
  const file = await cacheFile();
  const text = file && (await readFile(file, 'utf8').catch(() => undefined));
  return text === undefined ? undefined : (JSON.parse(text) as Words);
}

function generated(): Words {
  const lists = LISTS.map(({ ascii }, index) => madeWords(SEED + index, EACH, ascii));
  return { source: 'words generated from syllables', lists: withoutRepeats(lists) };
}

/** Generated lists are not disjoint. A number makes a repeated word different. */
function withoutRepeats(lists: readonly (readonly string[])[]): string[][] {
  const taken = new Set<string>();
  return lists.map((list, index) =>
    list.map((word) => {
      const different = taken.has(word) ? `${word}${index}` : word;
      taken.add(different);
      return different;
    }),
  );
}

/** Selects the words of each list at random. No two words have the same folded text. */
async function select(folder: string): Promise<Words> {
  const random = seeded(SEED);
  const taken = new Set<string>();
  const lists: string[][] = [];
  for (const { file, ascii } of LISTS) {
    const list: string[] = [];
    for (const word of shuffled(random, await wordsOf(join(folder, file), ascii))) {
      const folded = fold(word, 'kept');
      if (taken.has(folded)) continue;
      taken.add(folded);
      list.push(word);
      if (list.length === EACH) break;
    }
    if (list.length < EACH) throw new Error(`the word list ${file} has only ${list.length} suitable words`);
    lists.push(list);
  }
  return { source: `Debian's packages ${PACKAGES.join(', ')}`, lists };
}

/** The words of a file with one word a line. Possessives are left out, because they would double each noun. */
async function wordsOf(file: string, ascii: boolean): Promise<string[]> {
  const found: string[] = [];
  for await (const word of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
    if (WORD.test(word) && ASCII.test(word) === ascii && !word.endsWith("'s")) found.push(word);
  }
  return found;
}

function shuffled(random: Random, list: string[]): string[] {
  for (let at = list.length - 1; at > 0; at -= 1) {
    const other = between(random, 0, at);
    [list[at], list[other]] = [list[other] as string, list[at] as string];
  }
  return list;
}
