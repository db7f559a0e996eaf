import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../../../support/root';
import type { MutantResult } from '../mutants/run-mutant';
import { MUTANT_NAMES, mutantOf } from '../mutants/mutants';
import { faultOf } from '../nemesis/faults';
import { SAVED } from './saved';
import { mergeFaults, type RunReport } from './run-report';
import { list, range } from './text';

/** Writes the page about the saved runs. */
export function writeResults(): string {
  const runs = saved<RunReport>('run-').sort(
    (a, b) => a.topology.localeCompare(b.topology) || a.seed - b.seed,
  );
  const page = join('test', 'faults', 'RESULTS.md');
  writeFileSync(join(ROOT, page), resultsPage(runs, saved<MutantResult>('mutant-')));
  return page;
}

function saved<Saved>(prefix: string): Saved[] {
  return readdirSync(join(ROOT, SAVED))
    .filter((name) => name.startsWith(prefix) && name.endsWith('.json'))
    .map((name) => JSON.parse(readFileSync(join(ROOT, SAVED, name), 'utf8')) as Saved);
}

function resultsPage(runs: readonly RunReport[], mutantResults: readonly MutantResult[]): string {
  const [processor] = cpus();
  const machine = `${cpus().length} cores (${processor?.model.trim() ?? 'unknown'}), Node ${process.versions.node}`;
  return `# What the fault suite found

Written by \`npm run test:faults -- --write-results\` from the saved runs; do not edit. For how a run
works and what its terms mean see [suite/README.md](suite/README.md).

${wrapped(`Machine: ${machine}. Each run can be repeated at its commit:`)}
\`npm run test:faults -- --topology T --seed N --workers W [--beside COMMIT]\`.

## Runs

${items([...runs.map(runItem), { head: 'All runs', details: numbersOf(runs) }])}

${violations(runs)}

## Faults

A fault that changed nothing does not count. The effect is measured at the store, the processes and
the links. The next grant is the time from the fault's end to the next grant of any name.

${items(mergeFaults(runs.flatMap(({ faults }) => faults)).map(faultItem))}

## Mutants

A mutant is a copy of the product with a mistake. The suite catches a mutant when one of the
mutant's checkers reports a violation.

${items(MUTANT_NAMES.map((name) => mutantItem(name, mutantResults)))}
`;
}

function runItem(run: RunReport): Item {
  const workers = run.workerCount === undefined ? 'the usual workers' : `${run.workerCount} workers`;
  const versions = `commit \`${run.commit}\`${run.beside === undefined ? '' : ` beside \`${run.beside}\``}`;
  const head = `Topology \`${run.topology}\`, ${versions}, first seed ${run.seed}, ${workers}`;
  return { head, details: numbersOf([run]) };
}

/** The sums over some runs. */
function numbersOf(runs: readonly RunReport[]): string[] {
  const sum = (of: (run: RunReport) => number) => runs.reduce((all, run) => all + of(run), 0);
  const seconds = sum((run) => run.seconds);
  const operations = sum((run) => run.operations);
  const refused = sum((run) => run.refused);
  const answered = operations - refused;
  const perSecond = Math.round(answered / Math.max(1, seconds));
  const stalledSeconds = (sum((run) => run.stalledMs) / 1000).toFixed(1);
  return [
    `${sum(({ rounds }) => rounds)} rounds in ${(seconds / 60).toFixed(1)} minutes; the runner was stalled for ${stalledSeconds} s`,
    `${operations} operations: ${refused} refused, ${answered} answered (${perSecond} per second)`,
    `${sum(({ shared = 0 }) => shared)} operations shared a command to Redis`,
    `${sum(({ grants }) => grants)} grants, ${sum((run) => run.streamEvents)} stream events`,
    `rounds with violations: ${sum(({ failed }) => failed.length)}`,
  ];
}

function violations(runs: readonly RunReport[]): string {
  const found = runs.flatMap(({ topology, failed }) =>
    failed.map(({ seed, violations: counts, defects }) => ({
      head: `Topology \`${topology}\`, seed ${seed}`,
      details: [list(counts), ...defects.map((defect) => defect.split('\n', 1)[0]?.slice(0, 120) ?? '')],
    })),
  );
  return found.length === 0 ? 'No violation.' : items(found);
}

function faultItem(tally: ReturnType<typeof mergeFaults>[number]): Item {
  const { fault, drawn, counted, effect, firstGrantMs } = tally;
  return {
    head: `\`${fault}\`: ${faultOf(fault).about}`,
    details: [
      `drawn: ${drawn}, counted: ${counted}`,
      `effect: ${list(effect)}`,
      `next grant: ${range(firstGrantMs)}`,
    ],
  };
}

function mutantItem(name: (typeof MUTANT_NAMES)[number], mutantResults: readonly MutantResult[]): Item {
  const head = `\`${name}\`: ${mutantOf(name).about}`;
  const caught = mutantResults.find(({ mutant }) => mutant === name);
  if (caught === undefined) return { head, details: ['not run'] };
  if (caught.afterSeconds === undefined) return { head, details: ['NOT CAUGHT'] };
  return {
    head,
    details: [`caught after ${caught.afterSeconds.toFixed(1)} s`, `violations: ${list(caught.by)}`],
  };
}

/** An item of a list, with a nested list of details. */
interface Item {
  readonly head: string;
  readonly details: readonly string[];
}

function items(all: readonly Item[]): string {
  return all
    .flatMap(({ head, details }) => [
      wrapped(`- ${head}`, '  '),
      ...details.map((detail) => wrapped(`  - ${detail}`, '    ')),
    ])
    .join('\n');
}

/** The width of a page that a terminal of 100 columns shows without a break. */
const MAX_COLUMNS = 100;

/** Wraps a text at its spaces. The lines after the first line start with `indent`. */
function wrapped(text: string, indent = ''): string {
  const lines = [''];
  for (const word of text.split(/(?<=\S) /)) {
    const line = lines.at(-1) as string;
    const longer = line === '' ? word : `${line} ${word}`;
    if (longer.length <= MAX_COLUMNS) lines[lines.length - 1] = longer;
    else lines.push(`${indent}${word}`);
  }
  return lines.join('\n');
}
