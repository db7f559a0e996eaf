import { judgedByHand, withGoals } from '../../tools/goals-docs';

/** The table of goals in docs/design/hot-path.md. */

const page = (table: string): string =>
  `# Page\n\n<!-- Written by tools/goals-docs.ts. -->\n${table}<!-- End of the written part. -->\n\nText.\n`;

test('the written table has the goals of the results, and the rest of the page stays', () => {
  const written = withGoals(page('| stale |\n'));
  expect(written).not.toContain('stale');
  expect(written).toMatch(/^# Page\n\n/);
  expect(written).toMatch(/\nText\.\n$/);
  expect(written).toMatch(/\| AcquireLock: server CPU \| [\d.,]+ µs \| ≤ 85\.0 µs: (not )?met \|/);
  expect(withGoals(written)).toBe(written);
});

test('a goal that is judged in another table is found, and one in the written table is not', () => {
  const line = '| a held lock | 750 B | 743 B | met |';
  expect(judgedByHand(page(`${line}\n`))).toEqual([]);
  expect(judgedByHand(`Text.\n${line}\n| a lock | missed |\n| met | 3 |\n`)).toEqual([
    line,
    '| a lock | missed |',
  ]);
});

test('a page without the marks of the table is refused', () => {
  expect(() => withGoals('# Page\n')).toThrow('lacks the marks of the table');
});
