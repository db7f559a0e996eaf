/**
 * `npm run bench`: runs the benchmarks, prints their tables and writes the results.
 *
 *     npm run bench [-- [--quick] [--most entries] [row ...]]
 */
import { rows } from './rows';
import type { Row } from './rows/row';
import { leaveOutLarger } from './rows/sizes';
import { measuringProblem } from './support/cpu';
import { closeLibrary } from './support/library';
import { describeMachine, type Machine } from './support/machine';
import { writePage, writeResult } from './support/results';
import { textTable } from './support/table';

const USAGE = `usage: npm run bench [-- [--quick] [--most entries] [row ...]]

  --quick   fewer and shorter rounds, as a trial; writes no results
  --most    leaves out larger dictionaries; the import of 1,000,000 entries takes minutes
  row       ${rows.map(({ name }) => name).join(', ')}; default: all`;

interface Wanted {
  readonly quick: boolean;
  readonly chosen: readonly Row[];
}

/** Reads the command line. Returns undefined for wrong arguments. */
function parse(args: readonly string[]): Wanted | undefined {
  const quick = args.includes('--quick');
  const at = args.indexOf('--most');
  const most = at < 0 ? Infinity : Number(args[at + 1]);
  if (!(most > 0)) return undefined;
  leaveOutLarger(most);
  const names = args.filter((arg, i) => arg !== '--quick' && (at < 0 || (i !== at && i !== at + 1)));
  const chosen = rows.filter(({ name }) => names.includes(name));
  if (chosen.length !== new Set(names).size) return undefined;
  return { quick, chosen: names.length === 0 ? rows : chosen };
}

/** Returns true if results were written. */
async function measure(row: Row, quick: boolean, machine: Machine): Promise<boolean> {
  const startedAt = performance.now();
  console.log(`\n${row.name}: ${row.title}`);
  const figures = await row.run({ quick, say: (text) => console.log(`  ${text}`) });
  if ('skipped' in figures) {
    console.log(`  not measured: ${figures.skipped}`);
    return false;
  }
  console.log(`  took ${((performance.now() - startedAt) / 1000).toFixed(0)} s\n`);
  console.log(textTable(figures));
  if (quick) return false;
  const measured = new Date().toISOString().slice(0, 10);
  const options = process.argv.slice(2).filter((arg) => /^(--most|\d+)$/.test(arg));
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
    for (const row of wanted.chosen) written = (await measure(row, wanted.quick, machine)) || written;
  } finally {
    await closeLibrary();
  }
  console.log(written ? `\nwritten to ${await writePage(rows)}` : '\nno results were written');
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
