import { PassThrough } from 'node:stream';
import type { Holdfast, Suggestion } from '../../clients/typescript';
import type { Terminal } from '../../src/cli/terminal';
import { typeLines, typeOnTerminal } from '../../src/cli/autocomplete/type';
import { eventually } from '../support/eventually';

function suggestion(text: string, matched = 0): Suggestion {
  const segments = [
    { text: text.slice(0, matched), matched: true },
    { text: text.slice(matched), matched: false },
  ].filter((part) => part.text !== '');
  const payload = new Uint8Array();
  return { id: text, text, segments, payload, matchKind: 'PREFIX', score: 1, isRecent: false };
}

const SIZE = { columns: 20, rows: 10 };

test('the match is bold, and the choice has a mark', () => {
  const suggestions = [suggestion('New York', 3), suggestion('Newark', 3)];
  expect(typeLines({ text: 'new', suggestions, index: 1, problem: '' }, SIZE)).toEqual([
    '> new',
    '  \u001b[1mNew\u001b[22m York',
    '› \u001b[1mNew\u001b[22mark',
  ]);
});

test('no line wraps, and no line is below the screen', () => {
  const suggestions = Array.from({ length: 20 }, () => suggestion('東京'.repeat(10), 2));
  const lines = typeLines({ text: 'x'.repeat(40), suggestions, index: 0, problem: '' }, SIZE);
  expect(lines).toHaveLength(9);
  expect(lines[0]).toBe(`> ${'x'.repeat(16)}`);
  expect(lines[1]).toBe('› \u001b[1m東京\u001b[22m東京東京東京');
});

test('unsafe characters of a suggestion and of an error are escaped', () => {
  const view = { text: '', suggestions: [suggestion('a\u001b[2J\u202e')], index: 0, problem: '' };
  expect(typeLines(view, { columns: 80, rows: 9 })[1]).toBe('› a\\u{1b}[2J\\u{202e}');
  expect(typeLines({ ...view, problem: 'bad\nnews' }, { columns: 80, rows: 9 })).toEqual([
    '> ',
    '  bad\\u{a}news',
  ]);
});

/** A terminal of the test, with answers to each text. */
class Typist {
  readonly input = Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode: (isRaw: boolean) => (this.isRaw = isRaw),
  });
  readonly chosen: Promise<Suggestion | undefined>;
  isRaw = false;
  isClosed = false;
  drawn = '';

  constructor(answers: Readonly<Record<string, readonly string[]>>) {
    const err = new PassThrough().setEncoding('utf8').on('data', (text: string) => (this.drawn += text));
    const terminal = { input: this.input, err, interrupted: new AbortController().signal };
    const typeAhead = {
      type: async (text: string) => (answers[text] ?? []).map((one) => suggestion(one)),
      close: () => (this.isClosed = true),
    };
    const hf = { dictionary: () => ({ typeAhead: () => typeAhead }) };
    this.chosen = typeOnTerminal(terminal as unknown as Terminal, hf as unknown as Holdfast, 'd', {
      limit: 10,
    });
    this.chosen.catch(() => undefined);
  }

  press(keys: string): void {
    this.input.write(keys);
  }

  draws(text: string): Promise<true> {
    return eventually(`"${text}" on the terminal`, () => this.drawn.includes(text));
  }
}

test('keystrokes ask, the arrows choose, and Enter gives the choice', async () => {
  const typist = new Typist({ '': ['Top'], a: ['Aachen', 'Aarau'] });
  await typist.draws('› Top');
  expect(typist.isRaw).toBe(true);
  typist.press('xa');
  typist.press('\u007f\u007f');
  typist.press('a');
  await typist.draws('› Aachen');
  typist.press('\u001b[B');
  await typist.draws('› Aarau');
  typist.press('\r');
  expect((await typist.chosen)?.text).toBe('Aarau');
  expect([typist.isRaw, typist.isClosed]).toEqual([false, true]);
});

test('an Enter before the suggestions waits for those of the typed text', async () => {
  const typist = new Typist({ '': ['Top'], a: ['Aachen'] });
  await typist.draws('› Top');
  typist.press('a\r');
  expect((await typist.chosen)?.text).toBe('Aachen');
});

test('Ctrl-C ends with the exit code 130, and gives the terminal back', async () => {
  const typist = new Typist({ '': ['Top'] });
  await typist.draws('› Top');
  typist.press('\u0003');
  await expect(typist.chosen).rejects.toMatchObject({ exitCode: 130 });
  expect([typist.isRaw, typist.isClosed]).toEqual([false, true]);
});

test('Ctrl-D ends without a choice', async () => {
  const typist = new Typist({ '': ['Top'] });
  await typist.draws('› Top');
  typist.press('\u0004');
  expect(await typist.chosen).toBeUndefined();
});
