/**
 * The program of `npm run test:faults`. It runs rounds of real processes, faults and traffic, checks the histories of
 * the clients, and reports the effect of each fault. README.md in this folder describes the suite.
 */
import { commit } from '../../../bench/support/machine';
import { parseArguments, USAGE, UsageError, type RunOptions } from './arguments';
import { buildCommit } from './build-commit';
import { clockShim } from './clock-shim/shim';
import { runMutant } from './mutants/run-mutant';
import { planRound } from './plan';
import { saveMutantResult, saveHistory, saveReport } from './report/saved';
import { writeResults } from './report/results';
import { RunTally } from './report/run-report';
import { mutantText, failureText, reportText } from './report/text';
import { runRound } from './round';
import { serverProgram } from '../../support/processes/server-process';

/** Returns true if no round had a violation, and operations shared commands. */
async function play(options: RunOptions): Promise<boolean> {
  const { seed, topology, faults, trafficMs, workerCount, beside } = options;
  const shim = await clockShim();
  if ('missing' in shim) console.error(`THIS RUN STEPS NO CLOCK: ${shim.missing}`);
  const other = beside === undefined ? undefined : await buildCommit(beside);
  const programs = other && { servers: [serverProgram(), other.server] };
  const tally = new RunTally({ seed, topology, commit: await commit(), workerCount, beside: other?.commit });
  const started = performance.now();
  const seconds = (): number => (performance.now() - started) / 1000;
  for (let index = 0; index < options.rounds && seconds() < options.seconds; index += 1) {
    const plan = planRound({
      seed: seed + index,
      topology,
      canStepClocks: 'path' in shim,
      ...(faults && { faults }),
      ...(trafficMs !== undefined && { trafficMs }),
      ...(workerCount !== undefined && { workerCount }),
    });
    const steps = plan.steps.map(({ fault }) => fault).join(', ');
    console.log(`round ${plan.seed}, appendfsync ${plan.appendfsync}: ${steps || 'no fault'}`);
    try {
      const outcome = await runRound(plan, programs);
      const failed = tally.add(outcome);
      if (failed !== undefined) console.log(`${failureText(failed)}\nits history: ${saveHistory(outcome)}`);
    } catch (error) {
      console.log(failureText(tally.addBroken(plan.seed, error as Error)));
    }
  }
  await other?.remove();
  const report = tally.report(seconds());
  console.log(`\n${reportText(report)}\n\nsaved in ${saveReport(report)}`);
  return report.failed.length === 0 && report.shared !== 0;
}

/** Returns true if every mutant was caught. */
async function runMutants({ mutants, seed }: RunOptions): Promise<boolean> {
  let allCaught = true;
  for (const mutant of mutants) {
    const result = await runMutant(mutant, seed);
    saveMutantResult(result);
    console.log(mutantText(result));
    allCaught &&= result.afterSeconds !== undefined;
  }
  return allCaught;
}

async function main(): Promise<void> {
  const options = parseArguments(process.argv.slice(2));
  if (options.writeResults) return console.log(`written: ${writeResults()}`);
  const isGood = options.mutants.length > 0 ? await runMutants(options) : await play(options);
  if (!isGood) process.exitCode = 1;
}

main().catch((error: unknown) => {
  console.error(error instanceof UsageError ? `${error.message}\n\n${USAGE}` : error);
  process.exit(2);
});
