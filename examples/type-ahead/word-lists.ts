import { createReadStream, existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fetchPackages } from '../../src/dev/apt-fetch';
import { madeWords } from './made-words';

export interface Word {
  readonly text: string;
  readonly weight: number;
}

export interface WordList {
  /** Where the words are from, for a person. */
  readonly source: string;
  readonly weights: string;
  words(): AsyncIterable<Word> | Iterable<Word>;
  /** Removes what was made to read it. */
  end(): Promise<void>;
}

/** Debian's lists, each of which holds the words of the ones before: the sooner a word comes, the commoner it is. */
const DEBIAN = [
  { file: 'american-english-small', name: 'wamerican-small', weight: 30 },
  { file: 'american-english', name: 'wamerican', weight: 20 },
  { file: 'american-english-large', name: 'wamerican-large', weight: 10 },
] as const;
const PACKAGES = ['wamerican', 'wamerican-small', 'wamerican-large'] as const;
const SYSTEM_FOLDER = '/usr/share/dict';
const LONG = 10;
const MADE_COUNT = 50_000;

const BY_LENGTH = `1 for each letter short of ${LONG}`;
const BY_LIST = `${DEBIAN.map(({ name, weight }) => `${weight} in ${name}`).join(', ')}, and ${BY_LENGTH}`;

/** Small numbers, since each selection adds 1: what is chosen often must be able to overtake. */
function shortness(text: string): number {
  return Math.max(0, LONG - [...text].length);
}

async function* linesOf(file: string): AsyncIterable<string> {
  const input = createReadStream(file);
  for await (const line of createInterface({ input, crlfDelay: Infinity })) yield line;
}

/** Any file with one word a line. */
export function fileList(file: string): WordList {
  return {
    source: file,
    weights: BY_LENGTH,
    async *words() {
      for await (const text of linesOf(file)) yield { text, weight: shortness(text) };
    },
    end: () => Promise.resolve(),
  };
}

/** Undefined where the folder has none of the lists. Possessives are left out: each noun would be there twice. */
function debianLists(folder: string, source: string, end: () => Promise<void>): WordList | undefined {
  const present = DEBIAN.filter(({ file }) => existsSync(join(folder, file)));
  if (present.length === 0) return undefined;
  async function* words(): AsyncIterable<Word> {
    const seen = new Set<string>();
    for (const { file, weight } of present) {
      for await (const text of linesOf(join(folder, file))) {
        if (seen.has(text) || text.endsWith("'s")) continue;
        seen.add(text);
        yield { text, weight: weight + shortness(text) };
      }
    }
  }
  const names = present.map(({ name }) => name).join(', ');
  return { source: `${source} ${names}, without possessives`, weights: BY_LIST, words, end };
}

/** Downloads the lists and unpacks them, without root and without installing anything. */
async function debianPackages(
  env: NodeJS.ProcessEnv,
  fetch: typeof fetchPackages,
): Promise<WordList | string> {
  const scratch = await mkdtemp(join(tmpdir(), 'holdfast-words-'));
  const target = join(scratch, 'root');
  const end = () => rm(scratch, { recursive: true, force: true });
  const problem = await fetch([PACKAGES], env, scratch, target);
  const list = problem === undefined && debianLists(join(target, SYSTEM_FOLDER), "Debian's packages", end);
  if (list) return list;
  await end();
  return problem ?? "Debian's packages hold no word list";
}

export interface Sources {
  readonly env: NodeJS.ProcessEnv;
  readonly say: (text: string) => void;
  /** Tests have their own. */
  readonly systemFolder?: string;
  readonly fetch?: typeof fetchPackages;
}

/** The best list that this machine can give: its own, Debian's packages, or one that is made up. */
export async function anyList({
  env,
  say,
  systemFolder = SYSTEM_FOLDER,
  fetch = fetchPackages,
}: Sources): Promise<WordList> {
  const nothing = () => Promise.resolve();
  const installed = debianLists(systemFolder, "this machine's", nothing);
  if (installed) return installed;
  const plain = join(systemFolder, 'words');
  if (existsSync(plain)) return fileList(plain);
  say('this machine has no word list: fetching the packages wamerican-small, wamerican and wamerican-large');
  const fetched = await debianPackages(env, fetch);
  if (typeof fetched !== 'string') return fetched;
  say(`no word list can be fetched (${fetched}); making words up instead`);
  return {
    source: `${MADE_COUNT.toLocaleString('en')} words made up of syllables`,
    weights: BY_LENGTH,
    *words() {
      for (const text of madeWords(MADE_COUNT)) yield { text, weight: shortness(text) };
    },
    end: nothing,
  };
}
