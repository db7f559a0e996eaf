import { eventuallyPasses } from '../support/eventually';
import { TypeAheadStage } from './type-ahead-stage';
import { TypistTerminal, plain } from './typist-terminal';

let stage: TypeAheadStage;
let opened: TypistTerminal | undefined;

beforeAll(async () => (stage = await TypeAheadStage.open()));
beforeEach(() => stage.reset());
afterEach(() => opened?.close());
afterAll(() => stage?.close());

function open(options?: ConstructorParameters<typeof TypistTerminal>[3]): TypistTerminal {
  opened = new TypistTerminal(stage.address, stage.dictionary, stage.recents, options);
  return opened;
}

test('type-ahead at a terminal shows suggestions, match kinds and the latency after each key', async () => {
  const alice = open();
  alice.type('hous');
  const first = await alice.sees(/\[hous\]e$/);
  expect(first.slice(0, 4)).toEqual([
    '> hous',
    '> prefix        [hous]e',
    '  prefix        [hous]ing',
    '  prefix        [hous]ehold',
  ]);
  expect(first.at(-1)).toMatch(/^\d suggestions in [\d.]+ m?s$/);
  alice.type('ing');
  expect(await alice.sees(/\[housing\]$/)).toEqual([
    '> housing',
    '> exact         [housing]',
    expect.stringMatching(/^1 suggestion in /),
  ]);
  expect(alice.rawModes).toEqual([true]);
});

test('type-ahead at a terminal with colours shows matched text in colour instead of brackets', async () => {
  const alice = open({ isColored: true });
  alice.type('heron');
  await alice.sees(/exact +heron$/);
  expect(alice.written.at(-1)).toContain('\x1b[1;32mheron\x1b[0m');
});

test('type-ahead at a terminal counts a pick, shows the pick first as a recent, and starts the next word', async () => {
  const alice = open();
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
  // The answer may be a second old.
  await eventuallyPasses('the pick to count for all users', async () => {
    const { lines } = await stage.runProgram(['--user', 'somebody else'], 'household\n');
    expect(lines[1]).toBe('exact\t2\t-\t[household]');
  });
});

test('type-ahead at a terminal picks the first suggestion if Tab comes before the answer', async () => {
  const alice = open();
  alice.type('lightho\t');
  await alice.sees(/\* lighthouse$/);
  expect(alice.written.map(plain).filter((text) => text.endsWith('\r\n'))).toEqual(['lighthouse\r\n']);
});

test('type-ahead at a terminal deletes a grapheme cluster at Backspace, and the line at Ctrl-U', async () => {
  const alice = open();
  alice.type('cafe\u0301');
  expect(await alice.sees(/\[cafe\u0301\] noir$/)).toContain('  prefix        [cafe\u0301] noir');
  alice.type('\x7f');
  expect((await alice.sees(/^> caf$/))[0]).toBe('> caf');
  alice.type('\x15👩‍👩‍👧');
  expect(await alice.sees(/\[👩‍👩‍👧\] family$/)).toHaveLength(3);
  alice.type('\x7f東京');
  expect((await alice.sees(/\[東京\]都$/))[0]).toBe('> 東京');
  alice.type('\x15');
  expect((await alice.seesAnswer())[0]).toBe('> ');
});

test('type-ahead at a terminal never draws more lines or more typed text than fit on the screen', async () => {
  await stage.fill(Array.from({ length: 20 }, (_, index) => `word ${index}`));
  const alice = open({ rows: 8, columns: 20 });
  alice.type('word');
  expect(await alice.sees(/\[word\]/)).toHaveLength(7);
  alice.type(`\x15${'都'.repeat(40)}`);
  const [line = ''] = await alice.sees(/^0 suggestions in/);
  expect(line).toMatch(/^> …都+$/);
  // Each of the typed characters is two columns wide.
  expect(2 * line.length - 3).toBeLessThan(20);
});

test('type-ahead at a terminal ignores control keys, and text beyond the longest query', async () => {
  const alice = open();
  alice.type(`\x1b[5~\x01\x1bx${'a'.repeat(600)}`);
  await alice.sees(/^0 suggestions in/);
  expect(alice.written.some((text) => text.includes('refused'))).toBe(false);
  expect(alice.picture[0]).toMatch(/^> …a+$/);
});

test.each([
  ['Ctrl-C', (terminal: TypistTerminal) => terminal.type('\x03')],
  ['Ctrl-D', (terminal: TypistTerminal) => terminal.type('\x15\x04')],
  ['the end of the input', (terminal: TypistTerminal) => terminal.endInput()],
])('type-ahead at a terminal restores the terminal and ends at %s', async (_how, leave) => {
  const alice = open();
  alice.type('hous');
  await alice.seesAnswer();
  leave(alice);
  await alice.typist.done;
  expect(alice.rawModes).toEqual([true, false]);
  expect(alice.written.at(-1)).toBe('\r\x1b[J\x1b[?7h');
});

test('type-ahead at a terminal names the command that creates a deleted dictionary', async () => {
  const alice = open();
  await alice.seesAnswer();
  await stage.deleteDictionary();
  alice.type('h');
  await alice.sees(
    /^there is no dictionary ".*" yet: create it with npm run type-ahead -- --load --dictionary/,
  );
});
