import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { autocompleteServers } from '../../examples/type-ahead/calls';
import { loadWords } from '../../examples/type-ahead/load';
import { RedisProcess } from '../support/processes/redis-process';
import { scratchFolder } from '../support/scratch-folder';
import { ServerProcess } from '../support/processes/server-process';
import { builtFile } from './launchers';
import { TypistAtWork, plain } from './typist-stage';
import { WorkerProcess, type Launcher } from './worker-process';

const EXIT = { well: 0, failed: 1, usage: 2 } as const;
const WORDS = [
  'house',
  'household',
  'housing',
  'lighthouse',
  'heron',
  'café',
  'cafe\u0301 noir',
  '東京都',
  '👩‍👩‍👧 family',
];

let redis: RedisProcess;
let server: ServerProcess;
let dictionary: string;
let recents: string;
let program: WorkerProcess | undefined;
let person: TypistAtWork | undefined;

beforeAll(async () => {
  redis = await RedisProcess.start();
  server = await ServerProcess.start({ redisUrl: redis.url });
});
beforeEach(async () => {
  dictionary = `words-${randomUUID()}`;
  recents = `type-ahead:${randomUUID()}`;
  await fill(WORDS);
});
afterEach(async () => {
  await Promise.all([program?.close(), person?.close()]);
  [program, person] = [undefined, undefined];
});
afterAll(async () => {
  await server?.close();
  await redis?.close();
});

async function fill(words: readonly string[]): Promise<void> {
  const servers = autocompleteServers([server.listen]);
  const entries = words.map((text) => ({ text, weight: Math.max(0, 10 - [...text].length) }));
  await loadWords(servers.client(), dictionary, entries, () => undefined);
  servers.close();
}

const sitDown = (options?: ConstructorParameters<typeof TypistAtWork>[3]): TypistAtWork =>
  (person = new TypistAtWork(server.listen, dictionary, recents, options));

describe('in a terminal', () => {
  test('every key changes what is suggested, with the match, its kind and the latency', async () => {
    const alice = sitDown();
    alice.type('hous');
    const first = await alice.sees(/\[hous\]e$/);
    expect(first.slice(0, 4)).toEqual([
      '> hous',
      '> prefix        [hous]e',
      '  prefix        [hous]ing',
      '  prefix        [hous]ehold',
    ]);
    expect(first.at(-1)).toMatch(/^\d suggestions in [\d.]+ m?s(; partial: more may match)?$/);
    alice.type('ing');
    expect(await alice.sees(/\[housing\]$/)).toEqual([
      '> housing',
      '> exact         [housing]',
      expect.stringMatching(/^1 suggestion in /),
    ]);
    expect(alice.rawModes).toEqual([true]);
  });

  test('matches are in colour, and in brackets where none is wanted', async () => {
    const alice = sitDown({ isColored: true });
    alice.type('heron');
    await alice.sees(/exact +heron$/);
    expect(alice.written.at(-1)).toContain('\x1b[1;32mheron\x1b[0m');
  });

  test('what is picked is counted, stands in front as a recent, and the next word begins', async () => {
    const alice = sitDown();
    alice.type('hous');
    await alice.sees(/\[hous\]ehold$/);
    alice.type('\x1b[B\x1b[B\r');
    expect((await alice.sees(/^> prefix +\* household$/))[0]).toBe('> ');
    expect(alice.written.map(plain)).toContain('household\r\n');
    alice.type('hous');
    expect((await alice.sees(/\[hous\]e$/)).slice(1, 3)).toEqual([
      '> prefix      * [hous]ehold',
      '  prefix        [hous]e',
    ]);
    await alice.close();
    const { lines } = await ask(['--user', 'somebody else'], 'household\n');
    expect(lines[1]).toBe('exact\t2\t-\t[household]');
  });

  test('Enter that comes before the answer picks the first of the answer', async () => {
    const alice = sitDown();
    alice.type('lightho\t');
    await alice.sees(/\* lighthouse$/);
    expect(alice.written.map(plain).filter((text) => text.endsWith('\r\n'))).toEqual(['lighthouse\r\n']);
  });

  test('Backspace takes one character with all its accents and parts, Ctrl-U the line', async () => {
    const alice = sitDown();
    alice.type('cafe\u0301');
    expect(await alice.sees(/\[cafe\u0301\] noir$/)).toContain('  prefix        [cafe\u0301] noir');
    alice.type('\x7f');
    expect((await alice.sees(/^> caf$/))[0]).toBe('> caf');
    alice.type('\x15👩‍👩‍👧');
    expect(await alice.sees(/\[👩‍👩‍👧\] family$/)).toHaveLength(3);
    alice.type('\x7f東京');
    expect((await alice.sees(/\[東京\]都$/))[0]).toBe('> 東京');
    alice.type('\x15');
    expect((await alice.answered())[0]).toBe('> ');
  });

  test('never draws more than fits: neither lines, nor more of what was typed than the line has room for', async () => {
    await fill(Array.from({ length: 20 }, (_, index) => `word ${index}`));
    const alice = sitDown({ rows: 8, columns: 20 });
    alice.type('word');
    expect(await alice.sees(/\[word\]/)).toHaveLength(7);
    alice.type(`\x15${'都'.repeat(40)}`);
    const [line = ''] = await alice.sees(/^0 suggestions in/);
    expect(line).toMatch(/^> …都+$/);
    // Each of them is two columns wide.
    expect(2 * line.length - 3).toBeLessThan(20);
  });

  test('keys that are no text, and more than a query may have, change nothing', async () => {
    const alice = sitDown();
    alice.type(`\x1b[5~\x01\x1bx${'a'.repeat(600)}`);
    await alice.sees(/^0 suggestions in/);
    expect(alice.written.some((text) => text.includes('refused'))).toBe(false);
    expect(alice.picture[0]).toMatch(/^> …a+$/);
  });

  test.each([
    ['Ctrl-C', (alice: TypistAtWork) => alice.type('\x03')],
    ['Ctrl-D', (alice: TypistAtWork) => alice.type('\x15\x04')],
    ['the end of the input', (alice: TypistAtWork) => alice.endInput()],
  ])('%s ends it, and leaves the terminal as it was', async (_how, leave) => {
    const alice = sitDown();
    alice.type('hous');
    await alice.answered();
    leave(alice);
    await alice.typist.done;
    expect(alice.rawModes).toEqual([true, false]);
    expect(alice.written.at(-1)).toBe('\r\x1b[J\x1b[?7h');
  });

  test('says which command makes a dictionary that was deleted meanwhile', async () => {
    const alice = sitDown();
    await alice.answered();
    const servers = autocompleteServers([server.listen]);
    await new Promise<void>((resolve) => servers.client().deleteDictionary({ dictionary }, () => resolve()));
    servers.close();
    alice.type('h');
    await alice.sees(
      /^there is no dictionary ".*" yet: make it with npm run type-ahead -- --load --dictionary/,
    );
  });

  test('goes on after a restart of the server, with what is typed by then', async () => {
    const own = await ServerProcess.start({ redisUrl: redis.url });
    const alice = (person = new TypistAtWork(own.listen, dictionary, recents));
    let again: ServerProcess | undefined;
    try {
      alice.type('hou');
      await alice.sees(/\[hou\]se$/);
      await own.kill();
      await alice.sees(/^the stream broke \(.+\); trying again/);
      alice.type('si');
      again = await ServerProcess.start({ redisUrl: redis.url, listen: own.listen });
      expect((await alice.sees(/\[housi\]ng$/))[0]).toBe('> housi');
      // No key is needed to see that all is well again.
      await again.term();
      await alice.sees(/trying again/);
      again = await ServerProcess.start({ redisUrl: redis.url, listen: own.listen });
      await alice.answered();
    } finally {
      await Promise.all([own.close(), again?.close()]);
    }
  });
});

describe('in a pipe', () => {
  test('answers every line, in order, and ends well', async () => {
    const { lines, code } = await ask([], 'HOUSING\n\nxyz\n');
    const heads = lines.filter((line) => line.startsWith('#'));
    expect(heads).toEqual([
      expect.stringMatching(/^# HOUSING: 1 in [\d.]+ m?s(, partial)?$/),
      expect.stringMatching(/^# : 9 in/),
      expect.stringMatching(/^# xyz: 0 in/),
    ]);
    expect(lines[1]).toBe('exact\t3\t-\t[housing]');
    expect(lines).toHaveLength(heads.length + 10);
    expect(code).toBe(EXIT.well);
  });

  test('names the kind of each match, and says so where some may be left out', async () => {
    // On a busy machine the server may leave out the weakest kinds; not every time.
    const { lines } = await ask([], 'hous\n'.repeat(50));
    const whole = lines.findIndex((line) => /^# hous: 4 in [\d.]+ m?s$/.test(line));
    expect(lines.slice(whole + 1, whole + 5)).toEqual([
      'prefix\t5\t-\t[hous]e',
      'prefix\t3\t-\t[hous]ing',
      'prefix\t1\t-\t[hous]ehold',
      'contains\t0\t-\tlight[hous]e',
    ]);
    for (const line of lines.filter((one) => /^# hous: [0-3] /.test(one))) expect(line).toMatch(/, partial$/);
  });

  test('says of a line that the server refuses why, and goes on', async () => {
    const { lines, code } = await ask([], `${'x'.repeat(513)}\nheron\n`);
    expect(lines[0]).toMatch(/^# x+: refused: .*513 bytes of UTF-8; at most 512 are accepted/);
    expect(lines[2]).toBe('exact\t5\t-\t[heron]');
    expect(code).toBe(EXIT.failed);
  });

  test.each([
    [
      ['--server', '127.0.0.1:1'],
      /^no Holdfast server answers at 127\.0\.0\.1:1: start one with npm start$/,
      EXIT.failed,
    ],
    [
      ['--dictionary', 'none'],
      /^there is no dictionary "none" yet: make it with npm run type-ahead -- --load --dictionary "none"$/,
      EXIT.failed,
    ],
    [['file'], /^file: a FILE is wanted after --load only$/, EXIT.usage],
    [['--load', '/no/such/file'], /no such file or directory, open '\/no\/such\/file'$/, EXIT.failed],
  ])('with %j says what is wrong, and ends', async (args, words, code) => {
    const { lines, code: exit } = await ask(args, '');
    expect(lines.some((line) => words.test(line))).toBe(true);
    expect(exit).toBe(code);
  });
});

describe('loading', () => {
  test('takes a file, in which other lines are left out and counted', async () => {
    const file = join(scratchFolder(), 'words');
    const good = Array.from({ length: 1200 }, (_, index) => `word${index}`);
    const lines = [...good, '', 'a\tb', 'x'.repeat(513)].join('\r\n');
    writeFileSync(file, Buffer.concat([Buffer.from(lines), Buffer.from('\r\nna\xefve\r\n', 'latin1')]));
    const { lines: said, code } = await ask(['--load', file], '');
    expect(said).toEqual([
      `words from ${file}; weights: 1 for each letter short of 10`,
      '3 lines left out: too long, or not text in UTF-8',
      expect.stringMatching(new RegExp(`^"${dictionary}" has 1,200 words now, in \\d+ MB; loaded in `)),
    ]);
    expect(code).toBe(EXIT.well);
  });
});

/** Runs the program with this for its input, and answers all that it printed. */
async function ask(
  args: readonly string[],
  input: string,
): Promise<{ lines: string[]; code: number | null }> {
  const quoted = ['printf', '%s', input].map((one) => `'${one.replaceAll("'", `'\\''`)}'`).join(' ');
  const options = ['--dictionary', dictionary, '--user', 'nobody', '--server', server.listen, ...args];
  const launcher: Launcher = {
    command: 'sh',
    args: [
      '-c',
      `${quoted} | exec "$0" "$@"`,
      process.execPath,
      builtFile('examples', 'type-ahead', 'type-ahead.js'),
    ],
    env: {},
  };
  program = await WorkerProcess.start(launcher, options);
  const { code } = await program.exit();
  return { lines: program.lines.map(({ text }) => text), code };
}
