import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { InProcessServer } from '../end-to-end/in-process-server';
import { runProgram, type FakeTerminal } from '../support/cli/run-program';
import { closeAll } from '../support/eventually';
import { RedisProcess } from '../support/processes/redis-process';
import { scratchFolder } from '../support/scratch-folder';

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
  expect((await complete(['import', 'profile', folder, '--format', 'text'])).err).toContain('it is a folder');
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
