import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Attempt, Outcome } from '../../../clients/conformance/kit/attempt';
import { groupTable, writeTable } from '../../../clients/conformance/kit/result-table';
import { ROOT } from '../../support/root';
import { scratchFolder } from '../../support/scratch-folder';

const one = (id: string, language: string, outcome: Outcome): Attempt => ({
  ...{ id, language, outcome, ms: 1, problem: '', transcript: [] },
});
const ATTEMPTS = [
  one('09-fork/child', 'go', 'not offered'),
  one('01-deadline/a', 'go', 'passed'),
  one('01-deadline/b', 'go', 'known failure'),
  one('09-fork/child', 'python', 'passed'),
  one('01-deadline/a', 'python', 'failed'),
  one('01-deadline/b', 'python', 'passed'),
];
const TABLE = [
  '| cases         | go     | python |',
  '| ------------- | ------ | ------ |',
  '| `01-deadline` | 1 of 2 | 1 of 2 |',
  '| `09-fork`     | -      | 1 of 1 |',
  '| all           | 1 of 2 | 2 of 3 |',
].join('\n');

test('a table counts the passed cases of each group and language', () => {
  expect(groupTable(ATTEMPTS)).toBe(TABLE);
});

test('a written table replaces the earlier one, and nothing else of the document', () => {
  const file = join(scratchFolder(), 'testing.md');
  const document = readFileSync(join(ROOT, 'docs', 'testing.md'), 'utf8');
  writeFileSync(file, document);
  writeTable(file, ATTEMPTS);
  const [first] = [readFileSync(file, 'utf8'), writeTable(file, ATTEMPTS)];
  expect(readFileSync(file, 'utf8')).toBe(first);
  expect(first).toContain(TABLE);
  const marks = document.split(/<!-- .* -->/);
  expect(marks).toHaveLength(3);
  expect(first.startsWith(marks[0] ?? '?')).toBe(true);
  expect(first.endsWith(marks[2] ?? '?')).toBe(true);
});

test('a document without marks is refused', () => {
  const file = join(scratchFolder(), 'other.md');
  writeFileSync(file, '# Other\n');
  expect(() => writeTable(file, ATTEMPTS)).toThrow('has no marks of the table');
});
