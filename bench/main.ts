/**
 * `npm run bench`: runs the benchmarks, prints their tables and writes the results.
 *
 *     npm run bench [-- [--quick] [--sizes numbers] [--attacks names] [--parts names] [--seconds n] [row ...]]
 */
import { rows } from './rows';
import { chooseParts, chooseSeconds, PART_NAMES } from './rows/extremes';
import { chooseAttacks } from './rows/overload';
import type { Row } from './rows/row';
import { chooseSizes } from './rows/sizes';
import { measuringProblem } from './support/cpu';
import { closeLibrary } from './support/library';
import { describeMachine, type Machine } from './support/machine';
import { writePage, writeResult } from './support/results';
import { textTable } from './support/table';

const USAGE = `usage: npm run bench [-- [--quick] [--sizes numbers] [--attacks names] [--parts names] [--seconds n] [row ...]]

  --quick    fewer and shorter rounds, as a trial; writes no results
  --sizes    the numbers of entries of dictionaries, with commas between, at most 5000000
  --attacks  some attacks of the row overload, with commas between their names; writes no results
  --parts    some parts of the row dictionary-extremes; writes no results: ${PART_NAMES}
  --seconds  the length of parts that run for a time; default: 60
  row        ${rows.map(({ name }) => name).join(', ')}; default: all but dictionary-extremes`;

interface Wanted {
  readonly quick: boolean;
  /** Whether the results are written. */
  readonly kept: boolean;
  readonly chosen: readonly Row[];
}

/** Takes an option and its value out of the arguments. Returns undefined if the option is missing. */
function takeOption(args: string[], option: string): string | undefined {
  const at = args.indexOf(option);
  return at < 0 ? undefined : (args.splice(at, 2)[1] ?? '');
}

/** Reads the command line. Returns undefined for wrong arguments. */
function parse(all: readonly string[]): Wanted | undefined {
  const quick = all.includes('--quick');
  const names = all.filter((arg) => arg !== '--quick');
  const sizes = takeOption(names, '--sizes');
  if (sizes !== undefined && !chooseSizes(sizes.split(',').map(Number))) return undefined;
  const attacks = takeOption(names, '--attacks');
  if (attacks !== undefined && !chooseAttacks(attacks.split(','))) return undefined;
  const parts = takeOption(names, '--parts');
  if (parts !== undefined && !chooseParts(parts.split(','))) return undefined;
  const seconds = takeOption(names, '--seconds');
  if (seconds !== undefined && !chooseSeconds(Number(seconds))) return undefined;
  const chosen = rows.filter(({ name }) => names.includes(name));
  if (chosen.length !== new Set(names).size) return undefined;
  const usual = rows.filter(({ onRequest }) => !onRequest);
  const kept = !quick && attacks === undefined && parts === undefined;
  return { quick, kept, chosen: names.length === 0 ? usual : chosen };
}

/** Returns true if results were written. */
async function measure(row: Row, { quick, kept }: Wanted, machine: Machine): Promise<boolean> {
  const startedAt = performance.now();
  console.log(`\n${row.name}: ${row.title}`);
  const figures = await row.run({ quick, say: (text) => console.log(`  ${text}`) });
  if ('skipped' in figures) {
    console.log(`  not measured: ${figures.skipped}`);
    return false;
  }
  console.log(`  took ${((performance.now() - startedAt) / 1000).toFixed(0)} s\n`);
  console.log(textTable(figures));
  if (!kept) return false;
  const measured = new Date().toISOString().slice(0, 10);
  const options = process.argv.slice(2).filter((arg) => /^(--sizes|--seconds|[\d,]+)$/.test(arg));
  const command = ['npm run bench --', ...options, row.name].join(' ');
  await writeResult({ row: row.name, title: row.title, measured, command, machine, figures });
  return true;
}

async function main(): Promise<void> {
  const wanted = parse(process.argv.slice(2));
  if (wanted === undefined) {
    console.error(USAGE);
    process.exitCode = 2;
    return;
  }
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
