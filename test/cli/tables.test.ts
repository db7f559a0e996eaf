import { PassThrough } from 'node:stream';
import type { Holdfast, Suggestion } from '../../clients/typescript';
import { type Holder, LockMode, type Waiter } from '../../generated/typescript/holdfast/v1/lease';
import { Lock } from '../../generated/typescript/holdfast/v1/lock_service';
import { Semaphore } from '../../generated/typescript/holdfast/v1/semaphore_service';
import { typeLines, typeOnTerminal } from '../../src/cli/autocomplete/type';
import { lockKind, resourceLines, semaphoreKind } from '../../src/cli/leases/kinds';
import { spanText } from '../../src/cli/output';
import { table, textWidth } from '../../src/cli/table';
import { type Terminal, wantsColour } from '../../src/cli/terminal';
import { eventually } from '../support/eventually';

describe('tables', () => {
  const NOW_S = 1_700_000_000;
  const at = (seconds: number) => ({ seconds: BigInt(NOW_S + seconds), nanos: 0 });
  const PIPE = { columns: undefined, outHasColour: false };
  const TERMINAL = { columns: 80, outHasColour: false };

  const holder: Partial<Holder> = {
    holderId: 'deploy@build-7.internal.example.org:4711',
    mode: LockMode.LOCK_MODE_EXCLUSIVE,
    permitCount: 1,
    fencingToken: 1700000000000001n,
    acquireTime: at(-312),
    expireTime: at(21),
    identity: 'spiffe://example.org/deploy',
    metadata: new Map([['job', '17']]),
  };
  const waiter: Partial<Waiter> = {
    position: 1,
    holderId: 'second',
    mode: LockMode.LOCK_MODE_EXCLUSIVE,
    permitCount: 2,
    enqueueTime: at(-5),
  };
  const lock = Lock.create({
    name: 'deploy/production',
    holderCount: 1,
    waiterCount: 20,
    lastFencingToken: 1700000000000001n,
    holders: [holder],
    waiters: [waiter],
  });

  function text(lines: readonly string[]): string {
    return `\n${lines.join('\n')}\n`;
  }

  test('shows a lock without a terminal with every value whole', () => {
    expect(text(resourceLines(lockKind, lock, PIPE, NOW_S * 1000))).toMatchInlineSnapshot(`
   "
   lock        deploy/production
   state       held by 1
   waiters     20
   last token  1700000000000001

   HOLDER                                    MODE                  TOKEN  HELD FOR  ENDS IN  IDENTITY                     METADATA
   deploy@build-7.internal.example.org:4711  exclusive  1700000000000001  5m12s     21s      spiffe://example.org/deploy  job=17

   PLACE  WAITER  MODE       WAITS FOR
       1  second  exclusive  5s
   … and 19 more waiters
   "
  `);
  });

  test('shows a lock in 80 columns, and cuts the longest values', () => {
    const lines = resourceLines(lockKind, lock, TERMINAL, NOW_S * 1000);
    expect(text(lines)).toMatchInlineSnapshot(`
   "
   lock        deploy/production
   state       held by 1
   waiters     20
   last token  1700000000000001

   HOLDER      MODE                  TOKEN  HELD FOR  ENDS IN  IDENTITY    METADATA
   deploy@bu…  exclusive  1700000000000001  5m12s     21s      spiffe://…  job=17

   PLACE  WAITER  MODE       WAITS FOR
       1  second  exclusive  5s
   … and 19 more waiters
   "
  `);
    expect(Math.max(...lines.map(textWidth))).toBeLessThanOrEqual(80);
  });

  test('shows a free lock', () => {
    expect(text(resourceLines(lockKind, Lock.create({ name: 'a' }), PIPE, 0))).toMatchInlineSnapshot(`
   "
   lock     a
   state    free
   waiters  0
   "
  `);
  });

  test('shows a semaphore with its permits, and what is above a lowered limit', () => {
    const semaphore = Semaphore.create({
      name: 'gpu',
      limit: 2,
      usedCount: 3,
      overcommittedCount: 1,
      holderCount: 3,
      lastFencingToken: 12n,
      holders: [{ ...holder, permitCount: 3, identity: '', metadata: new Map(), revoked: true }],
    });
    expect(text(resourceLines(semaphoreKind, semaphore, PIPE, NOW_S * 1000))).toMatchInlineSnapshot(`
   "
   semaphore   gpu
   state       held by 3
   permits     3 of 2 used, 1 above the limit
   waiters     0
   last token  12

   HOLDER                                    PERMITS             TOKEN  HELD FOR  ENDS IN
   deploy@build-7.internal.example.org:4711        3  1700000000000001  5m12s     21s (revoked)
   … and 2 more holders
   "
  `);
  });

  test('shows a semaphore with the limit 0 as paused, with and without holders', () => {
    const states = [0, 2].map((holderCount) => {
      const paused = Semaphore.create({ name: 'gpu', holderCount, usedCount: holderCount, waiterCount: 1 });
      return [
        ...resourceLines(semaphoreKind, paused, PIPE, 0),
        ...table([paused], semaphoreKind.columns, PIPE).slice(1),
      ];
    });
    expect(text(states.flat())).toMatchInlineSnapshot(`
   "
   semaphore  gpu
   state      paused by its limit of 0
   permits    0 of 0 used
   waiters    1
   gpu      0      0        0        1  paused
   semaphore  gpu
   state      held by 2, paused by its limit of 0
   permits    2 of 0 used
   waiters    1
   gpu      2      0        2        1  (not readable)
   "
  `);
  });

  test('shows a list', () => {
    const rows = [lock, Lock.create({ name: 'free' }), Lock.create({ name: 'hidden', holderCount: 2 })];
    expect(text(table(rows, lockKind.columns, PIPE))).toMatchInlineSnapshot(`
   "
   NAME               HOLDERS  WAITERS             TOKEN  HOLDER
   deploy/production        1       20  1700000000000001  deploy@build-7.internal.example.org:4711
   free                     0        0                 0  free
   hidden                   2        0                 0  (not readable)
   "
  `);
    expect(text(table(rows, lockKind.columns, TERMINAL))).toMatchInlineSnapshot(`
   "
   NAME               HOLDERS  WAITERS             TOKEN  HOLDER
   deploy/production        1       20  1700000000000001  deploy@build-7.internal.…
   free                     0        0                 0  free
   hidden                   2        0                 0  (not readable)
   "
  `);
  });

  test('escapes what could steer a terminal, and counts wide characters as two columns', () => {
    const rows = ['a\u001b[2Jb', '漢字', 'é'];
    const columns = [
      { title: 'NAME', value: (row: string) => row },
      { title: 'END', value: () => '|' },
    ];
    expect(text(table(rows, columns, PIPE))).toMatchInlineSnapshot(`
   "
   NAME         END
   a\\u{1b}[2Jb  |
   漢字         |
   é            |
   "
  `);
  });

  test('prints bold titles only where colour is wanted', () => {
    const columns = [{ title: 'NAME', value: (row: string) => row }];
    expect(table(['a'], columns, { columns: 80, outHasColour: true })).toEqual([
      '\u001b[1mNAME\u001b[22m',
      'a',
    ]);
    expect(wantsColour({}, true)).toBe(true);
    expect(wantsColour({}, false)).toBe(false);
    expect(wantsColour({ NO_COLOR: '1' }, true)).toBe(false);
    expect(wantsColour({ NO_COLOR: '' }, true)).toBe(true);
    expect(wantsColour({ TERM: 'dumb' }, true)).toBe(false);
  });

  test.each([
    [0, '0ms'],
    [-5, '0ms'],
    [850, '850ms'],
    [999.6, '1s'],
    [1000, '1s'],
    [12_340, '12.3s'],
    [59_960, '1m'],
    [60_000, '1m'],
    [312_000, '5m12s'],
    [3_600_000, '1h'],
    [3_605_000, '1h'],
    [277_200_000, '3d5h'],
  ])('writes %d ms as %s', (ms, expected) => {
    expect(spanText(ms)).toBe(expected);
  });
});

describe('type lines', () => {
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
      /** Ends the query before, as the client of type-ahead does. */
      let supersede = (_error?: Error): void => undefined;
      const typeAhead = {
        type: (text: string) => {
          supersede();
          return new Promise<Suggestion[] | undefined>((resolve, reject) => {
            supersede = (error) => (error === undefined ? resolve(undefined) : reject(error));
            setImmediate(() => resolve((answers[text] ?? []).map((one) => suggestion(one))));
          });
        },
        close: () => {
          this.isClosed = true;
          supersede(new Error('the client is closed'));
        },
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

  test('a key after Enter changes nothing', async () => {
    const typist = new Typist({ '': ['Top'], a: ['Aachen'], ab: ['Abo'] });
    await typist.draws('› Top');
    typist.press('a\rb');
    expect((await typist.chosen)?.text).toBe('Aachen');
  });

  test('nothing is drawn after the terminal was given back, also if a query was pending', async () => {
    const typist = new Typist({ '': ['Top'], a: ['Aachen'] });
    await typist.draws('› Top');
    typist.press('a\u0004');
    expect(await typist.chosen).toBeUndefined();
    await new Promise((resolve) => setImmediate(resolve));
    expect(typist.drawn).toMatch(/\r\u001b\[J$/);
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
});
