import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Row } from '../rows/row';
import { summaryOf, type Figure, type FigureSummary } from './figures';
import type { Machine } from './machine';
import { ROOT } from '../../test/support/root';
import { markdownTable } from './table';

/** The last measurement of a row. */
interface Result {
  readonly row: string;
  readonly title: string;
  /** The day of the measurement (UTC). */
  readonly measured: string;
  readonly command: string;
  readonly machine: Machine;
  readonly figures: readonly FigureSummary[];
}

export interface MeasuredResult extends Result {
  readonly figures: readonly Figure[];
}

const FOLDER = join(ROOT, 'bench', 'results');
/** Git ignores this folder: the values of all rounds would be most of the lines of the repository. */
const ROUNDS_FOLDER = join(ROOT, 'bench', 'rounds');

function fileOf(row: string, folder = FOLDER): string {
  return join(folder, `${row}.json`);
}

/** Stores the spread of each figure, without the values of the rounds. */
export async function writeResult(result: MeasuredResult): Promise<void> {
  await write({ ...result, figures: result.figures.map(summaryOf) }, FOLDER);
}

/** Stores the values of all rounds too. Resolves to the path of the file. */
export function writeRounds(result: MeasuredResult): Promise<string> {
  return write(result, ROUNDS_FOLDER);
}

async function write(result: Result, folder: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  const file = fileOf(result.row, folder);
  await writeFile(file, asLines(result));
  return file;
}

/** JSON with a line for each figure, behind one for the row, its machine and its commit. */
export function asLines({ figures, ...row }: Result): string {
  const lines = figures.map((figure) => JSON.stringify(figure));
  return `${JSON.stringify(row).slice(0, -1)},"figures":[\n${lines.join(',\n')}\n]}\n`;
}

async function readResult(row: string): Promise<Result | undefined> {
  try {
    return JSON.parse(await readFile(fileOf(row), 'utf8')) as Result;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Writes the page with the last results of all rows, including results of earlier runs. */
export async function writePage(rows: readonly Row[]): Promise<string> {
  const parts = [INTRODUCTION];
  for (const row of rows) {
    const result = await readResult(row.name);
    parts.push(`## ${row.title}`, row.about, result ? describe(result) : 'Not measured yet.');
    if (result === undefined || row.picture === undefined) continue;
    await writeFile(join(FOLDER, `${row.name}.svg`), row.picture(result.figures));
    parts.push(`![${row.title}](${row.name}.svg)`);
  }
  const page = join(FOLDER, 'README.md');
  await writeFile(page, `${parts.join('\n\n')}\n`);
  return page;
}

function describe({ figures, machine, measured, command }: Result): string {
  const { processor, cores, memoryGb, system, load, node, redis, holdfast, commit } = machine;
  return [
    markdownTable(figures),
    '',
    `\`${command}\` on ${measured}, commit ${commit} (Holdfast ${holdfast}), Node ${node}, ${redis}; ` +
      `${processor}, ${cores} cores, ${memoryGb} GB, ${system}; load average at the start ${load}.`,
  ].join('\n');
}

const INTRODUCTION = `# Results

Written by \`npm run bench\`; do not edit. [../README.md](../README.md) describes the measurements. The JSON file of each
row has a line for each figure.

Machines differ and are shared, so read the ratios first. Each ratio divides our number by a yardstick that was measured in
the same round; its unit is \`×\`. A number is the median of the rounds. The column \`middle half\` has the first and third
quartile. CPU is the user and system time of the named process.`;
