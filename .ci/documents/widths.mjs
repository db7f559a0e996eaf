// Checks that the documents can be read in a terminal of 100 columns. README.md has at most 140 lines, and src/README.md
// at most 80. These pages, CONTRIBUTING.md, CHANGELOG.md and test/faults/RESULTS.md have no line over 100 columns, except
// a line that is one word, such as a URL. No table under docs/ is wider than 100 columns.

import { readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { filesWith, report, ROOT } from './files.mjs';

const MAX_COLUMNS = 100;
const MAX_LINES = { 'README.md': 140, [join('src', 'README.md')]: 80 };
const NARROW_PAGES = [
  ...Object.keys(MAX_LINES),
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  join('test', 'faults', 'RESULTS.md'),
];

/** Lines of a file that are too wide, as problems. Columns are counted in code points. */
function tooWide(file, isChecked) {
  return readFileSync(join(ROOT, file), 'utf8')
    .split('\n')
    .flatMap((line, index) => {
      const columns = [...line].length;
      if (columns <= MAX_COLUMNS || !isChecked(line)) return [];
      return [`${file}:${index + 1}: ${columns} columns; at most ${MAX_COLUMNS} are allowed`];
    });
}

/** The problem of a file with too many lines. */
function tooLong([file, maxLines]) {
  const lineCount = readFileSync(join(ROOT, file), 'utf8').trimEnd().split('\n').length;
  return lineCount > maxLines ? [`${file} has ${lineCount} lines; at most ${maxLines} are allowed`] : [];
}

const isSeveralWords = (line) => /\S\s+\S/.test(line.replace(/^\s*[-*] /, ''));
const isTableRow = (line) => /^\s*\|/.test(line);
const docs = filesWith(new Set(['.md'])).filter((file) => file.startsWith(`docs${sep}`));

report([
  ...Object.entries(MAX_LINES).flatMap(tooLong),
  ...NARROW_PAGES.flatMap((file) => tooWide(file, isSeveralWords)),
  ...docs.flatMap((file) => tooWide(file, isTableRow)),
]);
