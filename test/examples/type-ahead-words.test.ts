import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { anyList, type WordList } from '../../examples/type-ahead/word-lists';
import { scratchFolder } from '../support/scratch-folder';

describe('words', () => {
  test('of this machine are taken with the commonest first, each once, without possessives', async () => {
    const list = await anyList({ ...silent(), systemFolder: debianFolder(scratchFolder()) });
    expect(await textsOf(list)).toEqual(['the 37', "o'clock 33", 'abacus 24', 'zyzzyva 13']);
    expect(list.source).toBe(
      "this machine's wamerican-small, wamerican, wamerican-large, without possessives",
    );
  });

  test('are fetched where the machine has none, and removed when they are read', async () => {
    let target = '';
    const { said, ...sources } = silent();
    const list = await anyList({
      ...sources,
      fetch: (_sets, _env, _scratch, to) => {
        target = to;
        debianFolder(to);
        return Promise.resolve(undefined);
      },
    });
    expect(await textsOf(list)).toContain('abacus 24');
    expect(said).toEqual([expect.stringMatching(/^this machine has no word list: fetching/)]);
    await list.end();
    expect(readdirSync(tmpdir()).map((name) => join(tmpdir(), name, 'root'))).not.toContain(target);
  });

  test('are made up where none can be had, each once, and this is said', async () => {
    const { said, ...sources } = silent();
    const list = await anyList({ ...sources, fetch: () => Promise.resolve('no apt-get here') });
    const made = await textsOf(list);
    expect(list.source).toBe('50,000 words made up of syllables');
    expect(new Set(made).size).toBe(50_000);
    expect(made.every((word) => /^[a-z]+ \d$/.test(word))).toBe(true);
    expect(await textsOf(list)).toEqual(made);
    expect(said.at(-1)).toBe('no word list can be fetched (no apt-get here); making words up instead');
  });
});

function silent() {
  const said: string[] = [];
  return {
    env: {},
    say: (text: string) => void said.push(text),
    systemFolder: join(scratchFolder(), 'none'),
    said,
  };
}

/** As Debian's packages lay them out. */
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
