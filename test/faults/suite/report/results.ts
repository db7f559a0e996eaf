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
  return `# What the fault suite found

Written by \`npm run test:faults -- --write-results\` from the saved runs; do not edit. For how a run works and what
its terms mean see [suite/README.md](suite/README.md).

Machine: ${cpus().length} cores (${cpus()[0]?.model.trim() ?? 'unknown'}), Node ${process.versions.node}. Each run can be repeated at
its commit: \`npm run test:faults -- --topology T --seed N --workers W\`.

## Runs

${table(['commit', 'topology', 'first seed', 'workers', 'minutes', 'rounds', 'operations', 'refused', 'answered', 'answered a second', 'grants', 'stream events', 'seconds stalled', 'rounds with violations'], [...runs.map(runRow), sumRow(runs)])}

${violations(runs)}

## Faults

A fault that changed nothing does not count. _Effect_ is measured at the store, the processes and the links. _Next
grant_ is the time from the fault's end to the next grant of any name: median and longest.

${table(['fault', 'what it is', 'drawn', 'counted', 'effect', 'next grant'], mergeFaults(runs.flatMap(({ faults }) => faults)).map(faultRow))}

## Mutants

A mutant is a mistake that is built into a copy of the product. It is caught when one of its checkers reports a
violation.

${table(
  ['mutant', 'what it does wrong', 'caught after', 'by (violations)'],
  MUTANT_NAMES.map((name) => mutantRow(name, mutantResults)),
)}
`;
}

function runRow(run: RunReport): string[] {
  const workers = String(run.workerCount ?? 'usual');
  return [run.commit, run.topology, String(run.seed), workers, ...numbersOf([run])];
}

function sumRow(runs: readonly RunReport[]): string[] {
  return ['all', '', '', '', ...numbersOf(runs)];
}

/** The sums of all columns except the first columns. */
function numbersOf(runs: readonly RunReport[]): string[] {
  const sum = (of: (run: RunReport) => number) => runs.reduce((all, run) => all + of(run), 0);
  const seconds = sum((run) => run.seconds);
  const operations = sum((run) => run.operations);
  const refused = sum((run) => run.refused);
  const answered = operations - refused;
  return [
    (seconds / 60).toFixed(1),
    ...[sum(({ rounds }) => rounds), operations, refused, answered].map(String),
    ...[Math.round(answered / Math.max(1, seconds)), sum(({ grants }) => grants)].map(String),
    ...[String(sum((run) => run.streamEvents)), (sum((run) => run.stalledMs) / 1000).toFixed(1)],
    String(sum(({ failed }) => failed.length)),
  ];
}

function violations(runs: readonly RunReport[]): string {
  const rows = runs.flatMap(({ topology, failed }) =>
    failed.map(({ seed, violations: counts, defects }) => [
      topology,
      String(seed),
      [list(counts), ...defects.map((defect) => defect.split('\n', 1)[0]?.slice(0, 120) ?? '')].join('; '),
    ]),
  );
  if (rows.length === 0) return 'No violation.';
  return table(['topology', 'seed', 'violations'], rows);
}

function faultRow(tally: ReturnType<typeof mergeFaults>[number]): string[] {
  const { fault, drawn, counted, effect, firstGrantMs } = tally;
  return [fault, faultOf(fault).about, String(drawn), String(counted), list(effect), range(firstGrantMs)];
}

function mutantRow(name: (typeof MUTANT_NAMES)[number], mutantResults: readonly MutantResult[]): string[] {
  const { about } = mutantOf(name);
  const caught = mutantResults.find(({ mutant }) => mutant === name);
  if (caught === undefined) return [name, about, 'not run', ''];
  if (caught.afterSeconds === undefined) return [name, about, 'NOT CAUGHT', ''];
  return [name, about, `${caught.afterSeconds.toFixed(1)} s`, list(caught.by)];
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
