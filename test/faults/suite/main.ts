/**
 * `npm run test:faults`: plays rounds of real processes, faults and traffic, checks what the clients saw, and says
 * what each fault did. See README.md beside this file.
 */
import { parseArguments, USAGE, UsageError } from './arguments';
import { clockShim } from './clock-shim/shim';
import { findMutant } from './mutants/mutants';
import { buildMutant } from './mutants/build-mutant';
import { planRound } from './plan';
import { keepHistory, keepReport } from './report/kept';
import { RunTally } from './report/run-report';
import { failureText, reportText } from './report/text';
import { runRound } from './round';

async function main(): Promise<void> {
  const wanted = parseArguments(process.argv.slice(2));
  const shim = await clockShim();
  if ('missing' in shim) console.error(`NO CLOCK IS STEPPED IN THIS RUN: ${shim.missing}`);
  const mutant = wanted.mutant === undefined ? undefined : findMutant(wanted.mutant);
  const built = mutant && (await buildMutant(mutant));
  const tally = new RunTally(wanted.seed, wanted.topology, wanted.mutant);
  const started = performance.now();
  const seconds = (): number => (performance.now() - started) / 1000;
  try {
    for (let index = 0; index < wanted.rounds && seconds() < wanted.seconds; index += 1) {
      const plan = planRound({
        seed: wanted.seed + index,
        topology: wanted.topology,
        canStepClocks: 'path' in shim,
        ...((wanted.faults ?? mutant?.faults) && { faults: wanted.faults ?? mutant?.faults ?? [] }),
        ...(wanted.trafficMs !== undefined && { trafficMs: wanted.trafficMs }),
      });
      const steps = plan.steps.map(({ fault }) => fault).join(', ');
      console.log(`round ${plan.seed} (appendfsync ${plan.appendfsync}): ${steps}`);
      try {
        const outcome = await runRound(plan, built?.programs);
        const failed = tally.add(outcome);
        if (failed !== undefined) console.log(`${failureText(failed)}\nits history: ${keepHistory(outcome)}`);
      } catch (error) {
        console.log(failureText(tally.addBroken(plan.seed, error as Error)));
      }
    }
  } finally {
    await built?.remove();
  }
  const report = tally.report(seconds());
  console.log(`\n${reportText(report)}\n\nkept in ${keepReport(report)}`);
  if (report.failed.length > 0) process.exitCode = 1;
}

main().catch((error: unknown) => {
  console.error(error instanceof UsageError ? `${error.message}\n\n${USAGE}` : error);
  process.exit(2);
});
