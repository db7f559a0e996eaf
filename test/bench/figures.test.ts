import { figure, tableLine, takeRounds } from '../../bench/support/figures';
import { textTable } from '../../bench/support/table';

test('takeRounds puts the values of each figure together, without the values of the warm-ups', async () => {
  const taken = await takeRounds({ warmUps: 2, rounds: 3 }, (index) =>
    Promise.resolve([
      figure('a goal', '×', index, { most: 3 }),
      ...tableLine('one table', 'line', { column: 10 * index }),
      ...tableLine('another table', 'line', { column: [[1, 2], 'ms'], left: undefined, able: 'yes' }),
    ]),
  );
  expect(taken.map(({ value }) => value.rounds)).toEqual([
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
