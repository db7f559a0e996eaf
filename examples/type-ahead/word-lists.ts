import { createReadStream, existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fetchPackages } from '../../src/dev/apt-fetch';
import { generatedWords } from './generated-words';

export interface Word {
  readonly text: string;
  readonly weight: number;
}

export interface WordList {
  /** The source of the words, for the output. */
  readonly source: string;
  readonly weights: string;
  words(): AsyncIterable<Word> | Iterable<Word>;
  /** Removes the temporary files of the list. */
  close(): Promise<void>;
}

/** Debian's lists, the smallest first. Each list contains the smaller lists. Smaller lists have more common words. */
const DEBIAN = [
  { file: 'american-english-small', name: 'wamerican-small', weight: 30 },
  { file: 'american-english', name: 'wamerican', weight: 20 },
  { file: 'american-english-large', name: 'wamerican-large', weight: 10 },
] as const;
const PACKAGES = ['wamerican', 'wamerican-small', 'wamerican-large'] as const;
const SYSTEM_FOLDER = '/usr/share/dict';
const MAX_WEIGHTED_LENGTH = 10;
const GENERATED_COUNT = 50_000;

const BY_LENGTH = `${MAX_WEIGHTED_LENGTH} minus the number of letters`;
const BY_LIST = `${DEBIAN.map(({ name, weight }) => `${weight} for ${name}`).join(', ')}, plus ${BY_LENGTH}`;

/** Weights are small, so that a few selections move a word ahead. Each selection adds 1. */
function lengthWeight(text: string): number {
  return Math.max(0, MAX_WEIGHTED_LENGTH - [...text].length);
}

async function* linesOf(file: string): AsyncIterable<string> {
  const input = createReadStream(file);
  for await (const line of createInterface({ input, crlfDelay: Infinity })) yield line;
}

/** The word list of a file with one word per line. */
export function fileList(file: string): WordList {
  return {
    source: file,
    weights: BY_LENGTH,
    async *words() {
      for await (const text of linesOf(file)) yield { text, weight: lengthWeight(text) };
    },
    close: () => Promise.resolve(),
  };
}

/**
 * Reads the word lists of a folder. Undefined: the folder contains no list. Possessives are left out, because they
 * would double each noun.
 */
function debianLists(folder: string, source: string, close: () => Promise<void>): WordList | undefined {
  const present = DEBIAN.filter(({ file }) => existsSync(join(folder, file)));
  if (present.length === 0) return undefined;
  async function* words(): AsyncIterable<Word> {
    const seen = new Set<string>();
    for (const { file, weight } of present) {
      for await (const text of linesOf(join(folder, file))) {
        if (seen.has(text) || text.endsWith("'s")) continue;
        seen.add(text);
        yield { text, weight: weight + lengthWeight(text) };
      }
    }
  }
  const names = present.map(({ name }) => name).join(', ');
  return { source: `${source} ${names}, without possessives`, weights: BY_LIST, words, close };
}

/** Downloads and unpacks the lists. Root is not required, and nothing is installed. */
async function debianPackages(
  env: NodeJS.ProcessEnv,
  fetch: typeof fetchPackages,
): Promise<WordList | string> {
  const scratch = await mkdtemp(join(tmpdir(), 'holdfast-words-'));
  const target = join(scratch, 'root');
  const close = () => rm(scratch, { recursive: true, force: true });
  const problem = await fetch([PACKAGES], env, scratch, target);
  const list = problem === undefined && debianLists(join(target, SYSTEM_FOLDER), "Debian's packages", close);
  if (list) return list;
  await close();
  return problem ?? "Debian's packages contain no word list";
}

export interface WordListOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly print: (text: string) => void;
  /** Tests use another folder and another download. */
  readonly systemFolder?: string;
  readonly fetch?: typeof fetchPackages;
}

/** Finds a word list: an installed list, a list from Debian's packages, or generated words. */
export async function findWordList({
  env,
  print,
  systemFolder = SYSTEM_FOLDER,
  fetch = fetchPackages,
}: WordListOptions): Promise<WordList> {
  const noFiles = () => Promise.resolve();
  const installed = debianLists(systemFolder, "this machine's", noFiles);
  if (installed) return installed;
  const plain = join(systemFolder, 'words');
  if (existsSync(plain)) return fileList(plain);
  print(
    'this machine has no word list: fetching the packages wamerican-small, wamerican and wamerican-large',
  );
  const fetched = await debianPackages(env, fetch);
  if (typeof fetched !== 'string') return fetched;
  print(`no word list can be fetched (${fetched}); generating words instead`);
  return {
    source: `${GENERATED_COUNT.toLocaleString('en')} words generated from syllables`,
    weights: BY_LENGTH,
    *words() {
      for (const text of generatedWords(GENERATED_COUNT)) yield { text, weight: lengthWeight(text) };
    },
    close: noFiles,
  };
}
