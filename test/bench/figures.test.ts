import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { figure, summaryOf, tableLine, takeRounds } from '../../bench/support/figures';
import { asLines } from '../../bench/support/results';
import { textTable } from '../../bench/support/table';
import { ROOT } from '../support/root';

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
