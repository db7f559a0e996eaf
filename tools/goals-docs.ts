import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FigureSummary } from '../bench/support/figures';
import { judged, median } from '../bench/support/table';

/**
 * Writes the table of goals into docs/design/hot-path.md from the last results of the benchmarks, so that the page says
 * "met" only where the results do.
 *
 *     node dist/tools/goals-docs.js --write
 *     node dist/tools/goals-docs.js --check    fails also if another page judges a goal in a table
 */

const ROOT = process.cwd();
const DOCS = join(ROOT, 'docs');
const PAGE = join(DOCS, 'design', 'hot-path.md');
const [BEGIN, END] = ['<!-- Written by tools/goals-docs.ts. -->', '<!-- End of the written part. -->'];

/** The rows of the benchmarks whose goals are in the table, with shorter words for a table of 100 columns. */
const ROWS: readonly (readonly [row: string, shorten: (what: string) => string])[] = [
  ['unary', (what) => what.replace(', 32 in flight', '')],
  ['etcd', () => "acquire and release per core, Redis counted, by etcd's"],
  [
    'hand-over',
    (what) =>
      `hand-over, ${what.replace(/release to the next one's.*/, "p50 by an acquire's").replace(/ a hand-over.*/, '')}`,
  ],
  ['readers', (what) => what],
  ['memory', (what) => `${what}: memory in Redis`],
  ['semaphore', (what) => `semaphore: ${what}`],
  ['guards', (what) => `epochs and lateness, ${what.replace(' by what it is without', '')}`],
  ['held-leases', (what) => what],
];

interface Results {
  readonly figures: readonly FigureSummary[];
}

function goalsTable(): string {
  const lines = ROWS.flatMap(([row, shorten]) => {
    const { figures } = JSON.parse(
      readFileSync(join(ROOT, 'bench', 'results', `${row}.json`), 'utf8'),
    ) as Results;
    return figures
      .filter(({ goal }) => goal !== undefined)
      .map((figure) => `| ${shorten(figure.what)} | ${median(figure)} | ${judged(figure)} |`);
  });
  return ['| figure | seen | goal |', '| --- | ---: | --- |', ...lines].join('\n');
}

/** The page with the table of the present results. */
export function withGoals(page: string): string {
  const [before, rest] = page.split(BEGIN);
  const after = rest?.split(END)[1];
  if (before === undefined || after === undefined) throw new Error(`${PAGE} lacks the marks of the table`);
  return `${before}${BEGIN}\n\n${goalsTable()}\n\n${END}${after}`;
}

/** The tables of pages, outside of the written table, with a cell that says whether a goal is met. */
export function judgedByHand(page: string): string[] {
  const byHand = page.replace(new RegExp(`${BEGIN}[^]*?${END}`), '');
  return byHand.split('\n').filter((line) => /^\s*\|.*\b(met|missed)\b[^|]*\|\s*$/.test(line));
}

function check(): string[] {
  const page = readFileSync(PAGE, 'utf8');
  const stale =
    page === withGoals(page) ? [] : [`${PAGE} is out of date: run "node dist/tools/goals-docs.js --write"`];
  const pages = readdirSync(DOCS, { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith('.md'),
  );
  const byHand = pages.flatMap((path) =>
    judgedByHand(readFileSync(join(DOCS, path), 'utf8')).map(
      (line) => `docs/${path}: bench/results judges goals, so leave the word out here: ${line}`,
    ),
  );
  return [...stale, ...byHand];
}

function main(mode: string | undefined): void {
  if (mode === '--write') return writeFileSync(PAGE, withGoals(readFileSync(PAGE, 'utf8')));
  const problems = mode === '--check' ? check() : ['usage: goals-docs.js --check or --write'];
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) process.exitCode = 1;
}

if (require.main === module) main(process.argv[2]);
