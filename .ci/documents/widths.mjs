// Checks that the documents can be read in a terminal of 100 columns: README.md has at most 150 lines and no line
// over 100 columns, except a line that is one word, such as a URL; no table under docs/ is wider than 100 columns.

import { readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { filesWith, report, ROOT } from './files.mjs';

const MAX_COLUMNS = 100;
const MAX_README_LINES = 150;

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

const lineCount = readFileSync(join(ROOT, 'README.md'), 'utf8').trimEnd().split('\n').length;
const isSeveralWords = (line) => /\S\s+\S/.test(line.replace(/^\s*[-*] /, ''));
const isTableRow = (line) => /^\s*\|/.test(line);
const docs = filesWith(new Set(['.md'])).filter((file) => file.startsWith(`docs${sep}`));

report([
  ...(lineCount > MAX_README_LINES
    ? [`README.md has ${lineCount} lines; at most ${MAX_README_LINES} are allowed`]
    : []),
  ...tooWide('README.md', isSeveralWords),
  ...docs.flatMap((file) => tooWide(file, isTableRow)),
]);
