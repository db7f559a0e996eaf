import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type AwaitedGrant, handOversOf, shareInOrder } from '../../bench/locks/contest';
import type { Write } from '../../bench/locks/driver';
import { judge } from '../../bench/locks/pauses';
import { WITHOUT } from '../../bench/rows/guards';
import { figure, summaryOf, tableLine, takeRounds } from '../../bench/support/figures';
import { asLines } from '../../bench/support/results';
import { textTable } from '../../bench/support/table';
import { applyPatch, compile, patched } from '../support/build-variant';
import { ROOT } from '../support/root';

describe('figures', () => {
  test('takeRounds puts the values of each figure together, without the values of the warm-ups', async () => {
    const taken = await takeRounds({ warmUps: 2, rounds: 3 }, (index) =>
      Promise.resolve([
        figure('a goal', '×', index, { most: 3 }),
        ...tableLine('one table', 'line', { column: 10 * index }),
        ...tableLine('another table', 'line', { column: [[1, 2], 'ms'], left: undefined, able: 'yes' }),
      ]),
    );
    expect(taken.map(({ value }) => value.values)).toEqual([
      [2, 3, 4],
      [20, 30, 40],
      [1, 2, 1, 2, 1, 2],
      [1, 1, 1],
    ]);
    expect(taken.map(({ value }) => value.median)).toEqual([3, 30, 1.5, 1]);
  });

  test('textTable shows whether the median meets its goal, and a table for the figures with a place', () => {
    const figures = [
      figure('short', 'ms', 1.234, { most: 2 }),
      figure('long', 'ms', 3, { most: 2 }),
      figure('many', '', 1500, { least: 2000 }),
      ...tableLine('table', 'line', { number: [2, 'µs', '(of 3)'], able: 'from 2 letters' }),
    ];
    expect(textTable(figures)).toBe(
      [
        'figure   median  middle half  goal',
        'short   1.23 ms               ≤ 2.00 ms: met',
        'long    3.00 ms               ≤ 2.00 ms: not met',
        'many      1,500               ≥ 2,000: not met',
        '',
        'table          number            able',
        'line   2.00 µs (of 3)  from 2 letters',
      ].join('\n'),
    );
  });

  test('the summary of a figure has the number of the rounds in place of their values, and the same table', async () => {
    const [taken] = await takeRounds({ warmUps: 0, rounds: 4 }, (index) =>
      Promise.resolve([figure('a goal', '×', index, { most: 3 })]),
    );
    if (taken === undefined) throw new Error('there is no figure');
    const summary = summaryOf(taken);
    expect(summary).toEqual({
      what: 'a goal',
      unit: '×',
      value: { median: 1.5, low: 0.75, high: 2.25, rounds: 4 },
      goal: { most: 3 },
    });
    expect(textTable([summary])).toBe(textTable([taken]));
  });

  const FOLDER = join(ROOT, 'bench/results');

  test.each(readdirSync(FOLDER).filter((file) => file.endsWith('.json')))(
    'bench/results/%s has a line for each figure, without the values of the rounds',
    (file) => {
      const text = readFileSync(join(FOLDER, file), 'utf8');
      const result = JSON.parse(text) as Parameters<typeof asLines>[0];
      expect(asLines(result)).toBe(text);
      for (const { value } of result.figures) {
        expect(value).toEqual({
          median: expect.any(Number),
          low: expect.any(Number),
          high: expect.any(Number),
          rounds: expect.any(Number),
        });
      }
    },
  );
});

describe('guards', () => {
  const source = (file: string) => readFileSync(join(ROOT, file), 'utf8');

  test.each(WITHOUT)('the row "guards" finds the code that it removes from $file: $find', (patch) => {
    expect(applyPatch(source(patch.file), patch)).not.toBe(source(patch.file));
  });

  test.each([...patched(WITHOUT)])('%s still compiles without its checks', (file, changed) => {
    expect(compile(file, changed)).not.toBe(compile(file, source(file)));
  });
});

describe('locks', () => {
  const grant = (askedAt: number, grantedAt: number, releasedAt: number): AwaitedGrant => ({
    askedAt,
    grantedAt,
    releasedAt,
  });

  test('handOversOf gives the time from each release to the next grant, without the last waiters', () => {
    const grants = [grant(10, 33, 40), grant(0, 5, 10), grant(5, 11, 30), grant(33, 41, 42)];
    expect(handOversOf(grants, 1)).toEqual([1, 3]);
  });

  describe('shareInOrder', () => {
    /** Grants of one process, each as the begin of its wait, its grant and its release. */
    const shareOf = (
      ...grants: readonly (readonly [askedAt: number, grantedAt: number, releasedAt: number])[]
    ) => shareInOrder(grants.map((one) => ({ ...grant(...one), process: 0 })));

    it('is 1 if each grant goes to the waiter who has waited longest', () => {
      expect(shareOf([0, 20, 22], [10, 30, 32], [20, 40, 42])).toBe(1);
    });

    it('counts a grant that passes a wait that was known to be queued', () => {
      // The wait from 6 is known to be queued at 23, after the release at 20.
      expect(shareOf([0, 5, 20], [6, 50, 52], [7, 23, 25], [24, 30, 32])).toBe(0.75);
    });

    it('counts no passing of a wait that was not yet known to be queued', () => {
      expect(shareOf([0, 5, 20], [6, 50, 52], [7, 23, 25], [22.9, 30, 32])).toBe(1);
    });

    it('takes a wait for queued only after a release of its own process', () => {
      const others = [grant(0, 5, 20), grant(7, 23, 25), grant(24, 30, 32)];
      const passed = { ...grant(6, 50, 52), process: 1 };
      expect(shareInOrder([passed, ...others.map((one) => ({ ...one, process: 0 }))])).toBe(1);
    });
  });

  const writes = (...all: Write[]) => new Map(all.map((write) => [write.lock, write]));

  test('judge counts the writes of a holder who does not check', () => {
    const next = writes({ lock: 0, isHeld: true }, { lock: 1, isHeld: true });
    const late = writes({ lock: 0, isHeld: true }, { lock: 1, isHeld: false });
    expect(judge(late, next)).toEqual({ unchecked: 2, holderChecks: 1, tokenChecked: 2 });
  });

  test('judge counts no write with an older token where tokens are checked', () => {
    const next = writes({ lock: 0, isHeld: true, token: '10' }, { lock: 1, isHeld: true, token: '11' });
    const late = writes({ lock: 0, isHeld: false, token: '9' }, { lock: 1, isHeld: false, token: '11' });
    expect(judge(late, next)).toEqual({ unchecked: 2, holderChecks: 0, tokenChecked: 1 });
  });
});
