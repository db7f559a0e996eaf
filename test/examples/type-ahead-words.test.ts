import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findWordList, type WordList } from '../../examples/type-ahead/word-lists';
import { scratchFolder } from '../support/scratch-folder';

describe('findWordList', () => {
  test('returns each installed word once, the most common words first, without possessives', async () => {
    const list = await findWordList({ ...silentOptions(), systemFolder: debianFolder(scratchFolder()) });
    expect(await textsOf(list)).toEqual(['the 37', "o'clock 33", 'abacus 24', 'zyzzyva 13']);
    expect(list.source).toBe(
      "this machine's wamerican-small, wamerican, wamerican-large, without possessives",
    );
  });

  test('downloads word lists if none is installed, and removes the download at close', async () => {
    let target = '';
    const { printed, ...options } = silentOptions();
    const list = await findWordList({
      ...options,
      fetch: (_sets, _env, _scratch, to) => {
        target = to;
        debianFolder(to);
        return Promise.resolve(undefined);
      },
    });
    expect(await textsOf(list)).toContain('abacus 24');
    expect(printed).toEqual([expect.stringMatching(/^this machine has no word list: fetching/)]);
    await list.close();
    expect(readdirSync(tmpdir()).map((name) => join(tmpdir(), name, 'root'))).not.toContain(target);
  });

  test('generates different words if no list can be downloaded, and prints the reason', async () => {
    const { printed, ...options } = silentOptions();
    const list = await findWordList({ ...options, fetch: () => Promise.resolve('no apt-get here') });
    const generated = await textsOf(list);
    expect(list.source).toBe('50,000 words generated from syllables');
    expect(new Set(generated).size).toBe(50_000);
    expect(generated.every((word) => /^[a-z]+ \d$/.test(word))).toBe(true);
    expect(await textsOf(list)).toEqual(generated);
    expect(printed.at(-1)).toBe('no word list can be fetched (no apt-get here); generating words instead');
  });
});

function silentOptions() {
  const printed: string[] = [];
  return {
    env: {},
    print: (text: string) => void printed.push(text),
    systemFolder: join(scratchFolder(), 'none'),
    printed,
  };
}

/** Writes word lists in the layout of Debian's packages. */
function debianFolder(root: string): string {
  const folder = join(root, 'usr', 'share', 'dict');
  mkdirSync(folder, { recursive: true });
  const small = ['the', "o'clock"];
  const middle = ['abacus', "abacus's", ...small];
  writeFileSync(join(folder, 'american-english-small'), small.join('\n'));
  writeFileSync(join(folder, 'american-english'), middle.join('\n'));
  writeFileSync(join(folder, 'american-english-large'), [...middle, 'zyzzyva'].join('\n'));
  return folder;
}

async function textsOf(list: WordList): Promise<string[]> {
  const texts: string[] = [];
  for await (const { text, weight } of list.words()) texts.push(`${text} ${weight}`);
  return texts;
}
