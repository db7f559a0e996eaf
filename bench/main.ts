/**
 * `npm run bench`: runs the benchmarks, prints their tables and writes the results.
 *
 *     npm run bench [-- [--quick] [--rounds] [--sizes numbers] [--attacks names] [row ...]]
 */
import { getPriority } from 'node:os';
import { parseArgs } from 'node:util';
import { attacks } from '../test/support/attacks/attacks';
import { rows } from './rows';
import type { Row, RowContext } from './rows/row';
import { measuringProblem } from './support/cpu';
import { closeLibrary } from './support/library';
import { describeMachine, type Machine } from './support/machine';
import { writePage, writeResult, writeRounds } from './support/results';
import { textTable } from './support/table';

const USAGE = `usage: npm run bench [-- [--quick] [--rounds] [--sizes numbers] [--attacks names] [row ...]]

  --quick    fewer and shorter rounds, as a trial; writes no results
  --rounds   also writes the values of every round, to bench/rounds/, which git ignores
  --sizes    the numbers of entries of dictionaries, with commas between, 100 to 5000000
  --attacks  some attacks of the row overload, with commas between their names; writes no results
  row        ${rows.map(({ name }) => name).join(', ')}; default: all but dictionary-extremes`;

interface Wanted {
  readonly context: RowContext;
  /** Whether the results are written. */
  readonly kept: boolean;
  /** Whether the values of every round are written. */
  readonly withRounds: boolean;
  readonly chosen: readonly Row[];
}

/** Reads the command line. Throws an error about wrong arguments. */
function parse(): Wanted {
  const { values, positionals } = parseArgs({
    options: {
      quick: { type: 'boolean', default: false },
      rounds: { type: 'boolean', default: false },
      sizes: { type: 'string' },
      attacks: { type: 'string' },
    },
    allowPositionals: true,
  });
  const { quick } = values;
  const sizes = values.sizes
    ?.split(',')
    .map(Number)
    .sort((a, b) => a - b);
  const isSize = (size: number) => Number.isInteger(size) && size >= 100 && size <= 5_000_000;
  const chosenAttacks = values.attacks?.split(',');
  const unknown = [
    ...positionals.filter((name) => !rows.some((row) => row.name === name)),
    ...(sizes ?? []).filter((size) => !isSize(size)),
    ...(chosenAttacks ?? []).filter((name) => !attacks.some((attack) => attack.name === name)),
  ];
  if (unknown.length > 0) throw new Error(`unknown: ${unknown.join(', ')}`);
  const context: RowContext = {
    quick,
    say: (text) => console.log(`  ${text}`),
    ...(sizes && { sizes }),
    ...(chosenAttacks && { attacks: chosenAttacks }),
  };
  const chosen = rows.filter(({ name, onRequest }) =>
    positionals.length === 0 ? !onRequest : positionals.includes(name),
  );
  return { context, kept: !quick && chosenAttacks === undefined, withRounds: values.rounds, chosen };
}

/** Returns true if results were written. */
async function measure(row: Row, { context, kept, withRounds }: Wanted, machine: Machine): Promise<boolean> {
  const startedAt = performance.now();
  console.log(`\n${row.name}: ${row.title}`);
  const figures = await row.run(context);
  if ('skipped' in figures) {
    console.log(`  not measured: ${figures.skipped}`);
    return false;
  }
  console.log(`  took ${((performance.now() - startedAt) / 1000).toFixed(0)} s\n`);
  console.log(textTable(figures));
  const measured = new Date().toISOString().slice(0, 10);
  const options = process.argv.slice(2).filter((arg) => /^(--sizes|[\d,]+)$/.test(arg));
  const command = [...niceness(), 'npm run bench --', ...options, row.name].join(' ');
  const result = { row: row.name, title: row.title, measured, command, machine, figures };
  if (withRounds) console.log(`\n  every round: ${await writeRounds(result)}`);
  if (kept) await writeResult(result);
  return kept;
}

/** The priority of this run, and of all processes that it starts, if it is not the usual one. */
function niceness(): string[] {
  const nice = getPriority();
  return nice === 0 ? [] : [`nice -n ${nice}`];
}

function wantedOrUsage(): Wanted | undefined {
  try {
    return parse();
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${USAGE}`);
    process.exitCode = 2;
    return undefined;
  }
}

async function main(): Promise<void> {
  const wanted = wantedOrUsage();
  if (wanted === undefined) return;
  const problem = measuringProblem();
  if (problem !== undefined) throw new Error(problem);
  const machine = await describeMachine();
  console.log(Object.values(machine).join(', '));
  let written = false;
  try {
    for (const row of wanted.chosen) written = (await measure(row, wanted, machine)) || written;
  } finally {
    await closeLibrary();
  }
  console.log(written ? `\nwritten to ${await writePage(rows)}` : '\nno results were written');
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
