import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Entry } from '../../clients/typescript';
import { entriesOf, type EntryFormat, formatOfName } from '../../src/cli/files/entry-formats';
import { InProcessServer } from '../end-to-end/in-process-server';
import { type FakeTerminal, runProgram } from '../support/cli/run-program';
import { closeAll } from '../support/eventually';
import { RedisProcess } from '../support/processes/redis-process';
import { scratchFolder } from '../support/scratch-folder';

describe('complete', () => {
  let redis: RedisProcess;
  let server: InProcessServer;
  let folder: string;

  beforeAll(async () => {
    redis = await RedisProcess.start({ appendfsync: 'no' });
    server = await InProcessServer.start(redis.url);
    folder = scratchFolder();
  });
  afterAll(() =>
    closeAll(
      () => server?.closeDespiteWarnings(),
      () => redis?.close(),
    ),
  );

  const complete = (args: readonly string[], fake?: FakeTerminal) =>
    runProgram(['complete', ...args, '-a', server.address, '--timeout', '30s'], fake);

  const TOWNS = 'id,text,aliases,weight\n1,Paris,,50\n2,New York,NYC|Big Apple,90\n4,Newark,,3\n';

  /** A new dictionary with three towns. */
  async function towns(name: string): Promise<void> {
    const { code, err } = await complete(['import', name, '-', '--format', 'csv'], { input: TOWNS });
    expect({ code, err }).toEqual({ code: 0, err: `imported: 3 entries into "${name}"\n` });
  }

  test('suggest prints a table, an array and lines of JSON', async () => {
    await towns('formats');
    const suggest = ['suggest', 'formats', 'ne'];
    expect((await complete(suggest, { columns: 80 })).out).toBe(
      `\u001b[1mTEXT      MATCH   SCORE  RECENT  ID\u001b[22m
New York  prefix     90          2
Newark    prefix      3          4
`,
    );
    expect((await complete([...suggest, '--limit', '1', '-o', 'jsonl'])).out).toBe(
      '{"entryId":"2","text":"New York","segments":[{"text":"Ne","matched":true},{"text":"w York"}],' +
        '"matchKind":"MATCH_KIND_PREFIX","score":"90"}\n',
    );
    const json = JSON.parse((await complete([...suggest, '-o', 'json'])).out) as { text: string }[];
    expect(json.map(({ text }) => text)).toEqual(['New York', 'Newark']);
  });

  test('suggest puts the recents of a list first, and cuts long texts to the terminal', async () => {
    await towns('with recents');
    const long = `Newcastle${' upon Tyne'.repeat(12)}`;
    expect((await complete(['recents', 'add', 'bob', long])).code).toBe(0);
    const args = ['suggest', 'with recents', 'new', '--recents', 'bob'];
    const { out } = await complete(args, { columns: 60, env: { NO_COLOR: '1' } });
    expect(out).toBe(
      `TEXT                               MATCH   SCORE  RECENT  ID
Newcastle upon Tyne upon Tyne up…  prefix      0  yes
New York                           prefix     90          2
Newark                             prefix      3          4
`,
    );
  });

  test('type answers each line of stdin in order', async () => {
    await towns('typed');
    const fake = { input: 'new\nzzz\npar' };
    expect((await complete(['type', 'typed'], fake)).out).toBe(
      `QUERY  TEXT      MATCH   SCORE  RECENT  ID
new    New York  prefix     90          2
new    Newark    prefix      3          4
par    Paris  prefix     50          1
`,
    );
    const { out } = await complete(['type', 'typed', '-o', 'jsonl', '--limit', '1'], fake);
    const lines = out.trimEnd().split('\n');
    const parsed = lines.map((line) => JSON.parse(line) as { query: string; suggestions: unknown[] });
    expect(parsed.map(({ query, suggestions }) => [query, suggestions.length])).toEqual([
      ['new', 1],
      ['zzz', 0],
      ['par', 1],
    ]);
  });

  test('put, entries, get and delete change and show a dictionary', async () => {
    await towns('changed');
    const put = ['put', 'changed', '9', 'New Delhi', '--alias', 'Delhi', '--weight', '7', '--payload', 'in'];
    expect((await complete(put)).err).toBe('put: 1 entry into "changed"\n');
    expect((await complete(['entries', 'changed', 'NEW '])).out).toBe(
      `ID  TEXT       WEIGHT  SELECTED  ALIASES
9   New Delhi       7         0  Delhi
2   New York       90         0  NYC, Big Apple
`,
    );
    expect((await complete(['delete', 'changed', '9', 'x'])).err).toBe('deleted: 1 entry of "changed"\n');
    expect((await complete(['get', 'changed'])).out).toMatch(
      /^dictionary {2}changed\nentries {5}3\nprofile {5}accents kept, typos on\ngeneration {2}1\nstore {7}[\d.]+ (B|KiB)\n/,
    );
    expect((await complete(['delete', 'changed', '--all'])).err).toBe('deleted: dictionary "changed"\n');
    expect((await complete(['delete', 'changed', '--all'])).err).toBe('there was no such dictionary\n');
  });

  test('put takes what entries prints as lines of JSON', async () => {
    await towns('copied');
    await complete(['create', 'copy', '--accents', 'dropped', '--typos', 'off']);
    const { out } = await complete(['entries', 'copied', '-o', 'jsonl']);
    expect((await complete(['put', 'copy'], { input: out })).err).toBe('put: 3 entries into "copy"\n');
    expect((await complete(['entries', 'copy', '-o', 'jsonl'])).out).toBe(out);
    expect((await complete(['list', 'cop', '-o', 'jsonl'])).out).toMatch(
      /"name":"copied".*ACCENT_HANDLING_KEPT.*\n.*"name":"copy".*ACCENT_HANDLING_DROPPED.*TYPO_MATCHING_OFF/,
    );
  });

  test('delete needs ids or --all, but not both', async () => {
    await towns('kept');
    expect((await complete(['delete', 'kept'])).code).toBe(64);
    expect((await complete(['delete', 'kept', '1', '--all'])).code).toBe(64);
    expect((await complete(['list', 'kept'])).out).toMatch(/^kept {2,}3 /m);
  });

  test('an import with a bad line names the line, and changes nothing', async () => {
    await towns('unchanged');
    // The server has got the first batches before the bad line.
    const lines = Array.from({ length: 2500 }, (_, i) => `{"entryId":"${i}","text":"town ${i}"}`);
    const input = [...lines, '{"entryId":"","text":"x"}'].join('\n');
    const { code, err } = await complete(['import', 'unchanged', '-', '--format', 'jsonl'], { input });
    expect(err).toBe('line 2501 of stdin: "entryId" must be a text that is not empty\n');
    expect(code).toBe(64);
    expect((await complete(['entries', 'unchanged', '-o', 'jsonl'])).out.split('\n')).toHaveLength(3 + 1);
  });

  test('an import shows a bar on a terminal, and removes the bar', async () => {
    const file = join(folder, 'words.txt');
    writeFileSync(file, 'one\ntwo\n');
    const { err } = await complete(['import', 'barred', file], { columns: 80 });
    expect(err).toBe(
      `\r\u001b[K[${'#'.repeat(24)}] 100%  1 entry\r\u001b[Kimported: 2 entries into "barred"\n`,
    );
  });

  test('an import refuses another profile, an unreadable file and an unknown format', async () => {
    await towns('profile');
    const input = { input: 'a\n' };
    const other = ['import', 'profile', '-', '--format', 'text', '--accents', 'dropped'];
    expect(await complete(other, input)).toMatchObject({
      code: 1,
      err: expect.stringContaining('DICTIONARY_EXISTS') as string,
    });
    expect(await complete(['import', 'profile', join(folder, 'none.txt')])).toMatchObject({
      code: 64,
      err: expect.stringContaining('cannot be read: ENOENT') as string,
    });
    expect((await complete(['import', 'profile', folder, '--format', 'text'])).err).toContain(
      'it is a folder',
    );
    expect((await complete(['import', 'profile', '-'], input)).err).toContain('give --format');
  });

  test('recents are added, listed, removed and deleted', async () => {
    const recents = (...args: string[]) => complete(['recents', ...args]);
    await recents('add', 'eve', 'plain');
    await recents('add', 'eve', 'Paris', '--entry-id', '1', '--capacity', '5');
    expect((await recents('list', 'eve')).out).toBe(
      `TEXT   MATCH   SCORE  RECENT  ID
Paris  prefix      0  yes     1
plain  prefix      0  yes
`,
    );
    expect((await recents('remove', 'eve', '--entry-id', '1')).err).toBe('removed\n');
    expect((await recents('remove', 'eve', 'Paris')).err).toBe('the list did not have the text\n');
    expect((await recents('remove', 'eve')).code).toBe(64);
    expect((await recents('delete', 'eve')).err).toBe('deleted: list "eve"\n');
    expect((await recents('list', 'eve')).out).toBe('');
  });
});

describe('completion', () => {
  let script: string;
  beforeAll(async () => {
    script = join(scratchFolder(), 'holdfast.bash');
    writeFileSync(script, (await runProgram(['completion', 'bash'])).out);
  });

  /** The words that bash offers for the last of the words. */
  function offered(...words: string[]): string[] {
    const program = `
    source "$1"; shift
    compopt() { :; }
    COMP_WORDS=(holdfast "$@"); COMP_CWORD=$#
    _holdfast
    printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout, stderr, status } = spawnSync(
      'bash',
      ['--norc', '-c', program, 'bash', script, ...words],
      {
        encoding: 'utf8',
        cwd: join(script, '..'),
      },
    );
    expect({ stderr, status }).toEqual({ stderr: '', status: 0 });
    return stdout.split('\n').filter((line) => line !== '');
  }

  test('bash offers commands, and the commands below a command', () => {
    expect(offered('')).toEqual(
      expect.arrayContaining(['lock', 'complete', 'export', 'top', 'call', 'status']),
    );
    expect(offered('sem')).toEqual(['semaphore']);
    expect(offered('complete', 're')).toEqual(['recents']);
    expect(offered('complete', 'recents', '')).toEqual(['add', 'list', 'remove', 'delete']);
    expect(offered('completion', '')).toEqual(['bash', 'zsh', 'fish']);
  });

  test('bash offers the options of the command, and the values of an option', () => {
    expect(offered('complete', 'suggest', 'towns', '--')).toEqual(
      expect.arrayContaining(['--limit', '--recents', '--output', '--address', '--help']),
    );
    expect(offered('export', '--s')).toEqual(['--semaphores', '--server-name']);
    expect(offered('lock', 'get', '-o', '')).toEqual(['table', 'json', 'jsonl']);
    expect(offered('lock', 'get', '--output', '=', 'js')).toEqual(['json', 'jsonl']);
    expect(offered('complete', 'import', 'd', '--format', 't')).toEqual(['tsv', 'text']);
    expect(offered('lock', 'get', '--address', '')).toEqual([]);
  });

  test('bash offers files for a file, and programs for the command after --', () => {
    expect(offered('import', 'hold')).toEqual(['holdfast.bash']);
    expect(offered('status', '--ca', 'hold')).toEqual(['holdfast.bash']);
    expect(offered('lock', 'run', 'x', '--', 'prin')).toContain('printf');
    expect(offered('lock', 'run', 'x', '--', 'cat', 'hold')).toEqual(['holdfast.bash']);
  });

  test('an argument that is named as a command does not change the command', () => {
    expect(offered('lock', 'get', 'list', '--out')).toEqual(['--output']);
    expect(offered('lock', 'get', 'list', '--contended')).toEqual([]);
  });

  test.each(['zsh', 'fish'])(
    'the script for %s has every command and option of the script for bash',
    async (shell) => {
      const { out } = await runProgram(['completion', shell]);
      for (const word of ['recents', 'set-limit', 'end-quarantine']) expect(out).toContain(word);
      for (const name of ['dry-run', 'max-hold', 'semaphores']) expect(out).toContain(name);
      if (spawnSync(shell, ['--version']).status !== 0) return;
      const file = `${script}.${shell}`;
      writeFileSync(file, out);
      const { status, stderr } = spawnSync(shell, ['-n', file], { encoding: 'utf8' });
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    },
  );

  test('completion refuses another shell', async () => {
    expect(await runProgram(['completion', 'tcsh'])).toMatchObject({ code: 64 });
  });
});

describe('entries', () => {
  /** A short text comes in pieces of one byte, so that each boundary of the parsers is between two pieces. */
  async function read(format: EntryFormat, text: string | Buffer): Promise<Entry[]> {
    async function* bytes() {
      const all = Buffer.from(text);
      const size = all.length > 4096 ? 997 : 1;
      for (let at = 0; at < all.length; at += size) yield all.subarray(at, at + size);
    }
    const entries: Entry[] = [];
    for await (const entry of entriesOf(bytes(), format, 'the file')) entries.push(entry);
    return entries;
  }

  const brief = (entries: readonly Entry[]) => entries.map(({ id, text, weight }) => [id, text, weight]);

  test('JSON lines give entries with all fields', async () => {
    const line = { entryId: '3', text: 'Zürich', aliases: ['Turicum'], weight: '9', payload: 'AQI=' };
    expect(
      await read('jsonl', `${JSON.stringify(line)}\r\n\n{"entry_id":"4","text":"Bern","weight":2}`),
    ).toEqual([
      { id: '3', text: 'Zürich', aliases: ['Turicum'], weight: 9n, payload: Buffer.from([1, 2]) },
      { id: '4', text: 'Bern', aliases: [], weight: 2n, payload: Buffer.alloc(0) },
    ]);
  });

  test('JSON lines may be what "complete entries" prints, with selections', async () => {
    const text = '{"entry":{"entryId":"3","text":"Bern"},"selectionCount":"7"}\n';
    expect(brief(await read('jsonl', text))).toEqual([['3', 'Bern', 0n]]);
  });

  test('a CSV field in quotes may have commas, line breaks of the file and doubled quotes', async () => {
    const text = '\ufeffweight,text,id\r\n5,"New ""York"", N.Y.",ny\r\n\r\n,Bern,\r\n';
    expect(brief(await read('csv', text))).toEqual([
      ['ny', 'New "York", N.Y.', 5n],
      ['Bern', 'Bern', 0n],
    ]);
  });

  test('CSV and TSV divide aliases by |', async () => {
    expect((await read('csv', 'text,aliases\nNew York,NYC|Big Apple\n'))[0]?.aliases).toEqual([
      'NYC',
      'Big Apple',
    ]);
    expect((await read('tsv', 'text\taliases\nNew York\tNYC|"N"\n'))[0]?.aliases).toEqual(['NYC', '"N"']);
  });

  test('a line of text is the text and the id', async () => {
    expect(brief(await read('text', 'Bern\r\n\nGenève'))).toEqual([
      ['Bern', 'Bern', 0n],
      ['Genève', 'Genève', 0n],
    ]);
  });

  test.each<[EntryFormat, string | Buffer, string]>([
    ['jsonl', '{"entryId":"1","text":"a"}\n{', 'line 2 of the file: is no JSON'],
    ['jsonl', '[]', 'line 1 of the file: must be a JSON object'],
    ['jsonl', '{"id":"1","text":"a"}', 'line 1 of the file: "id" is no field of an entry'],
    ['jsonl', '{"text":"a"}', 'line 1 of the file: "entryId" must be a text'],
    ['jsonl', `{"entryId":"1","text":"${'ä'.repeat(257)}"}`, '"text" has 514 bytes, more than 512'],
    ['jsonl', '{"entryId":"1","text":"\\ud800"}', '"text" has a control character, half a surrogate pair'],
    ['jsonl', '{"entryId":"1","text":"a","weight":-1}', '"weight" must be a whole number'],
    ['jsonl', '{"entryId":"1","text":"a","weight":"4503599627370497"}', '"weight" must be a whole number'],
    ['jsonl', '{"entryId":"1","text":"a","payload":"%"}', '"payload" is no base64'],
    ['jsonl', `{"entryId":"1","text":"a","payload":"${'A'.repeat(1368)}"}`, '"payload" has 1026 bytes'],
    ['jsonl', `{"entryId":"1","text":"a","aliases":${JSON.stringify(Array(17).fill('b'))}}`, 'more than 16'],
    ['jsonl', 'x'.repeat(2 ** 17 + 1), 'line 1 of the file is longer than 131072 characters'],
    ['text', Buffer.from([0x61, 0xff]), 'the file is not UTF-8'],
    ['text', 'a\nb\u0007', 'line 2 of the file: "entryId" has a control character'],
    ['csv', 'text\n"a', 'the record at line 2 of the file has a quote without an end'],
    ['csv', 'text\n"a"b\n', 'the record at line 2 of the file has text after the end of a quote'],
    ['csv', 'text,id\na\n', 'line 2 of the file: has 1 fields, but the header has 2'],
    ['csv', 'name\na\n', 'line 1 of the file: has the column "name"'],
    ['csv', 'text,constructor\na,b\n', 'line 1 of the file: has the column "constructor"'],
    ['csv', 'id\na\n', 'line 1 of the file: must be a header with the column "text"'],
    ['csv', 'text,text\na,b\n', 'line 1 of the file: names a column twice'],
    [
      'csv',
      `text\n"${'x'.repeat(2 ** 17)}`,
      'the record at line 2 of the file is longer than 131072 characters',
    ],
  ])('%s refuses %j', async (format, text, problem) => {
    await expect(read(format, text)).rejects.toMatchObject({
      message: expect.stringContaining(problem),
      exitCode: 64,
    });
  });

  test('the ending of a name says the format', () => {
    expect(['a.jsonl', 'b.NDJSON', 'c.csv', 'd.tsv', 'e.txt'].map(formatOfName)).toEqual([
      ...['jsonl', 'jsonl', 'csv', 'tsv', 'text'],
    ]);
    expect(() => formatOfName('a.constructor')).toThrow('give --format jsonl|csv|tsv|text');
    expect(() => formatOfName('/usr/share/dict/words')).toThrow('give --format jsonl|csv|tsv|text');
  });
});
