import { sayNotChecked } from '../support/not-checked';
import { Stage } from './stage';
import { QUICK_SCENARIOS, SLOW_SCENARIOS, STREAM_SCENARIOS, type Scenario } from './worker-scenarios';
import type { Launcher } from './worker-process';

export { QUICK_SCENARIOS, SESSION_SCENARIOS, SLOW_SCENARIOS } from './worker-scenarios';
export const STREAM_WORKER_SCENARIOS: readonly Scenario[] = [
  ...QUICK_SCENARIOS,
  ...SLOW_SCENARIOS,
  ...STREAM_SCENARIOS,
];

/**
 * Checks what examples/README.md promises about the workers, by their output, their exit codes and the ledger.
 *
 * @param subject the worker's name in the report
 * @param findWorker finds the worker under test, or the reason why the worker cannot run on this machine
 * @param other the second worker of each scenario, which may be written in another language
 */
export function workerSuite(
  subject: string,
  scenarios: readonly Scenario[],
  findWorker: () => Promise<Launcher | string>,
  other: Launcher,
): void {
  describe(subject, () => {
    let stage: Stage | undefined;
    let launcher: Launcher | undefined;

    beforeAll(async () => {
      const found = await findWorker();
      if (typeof found === 'string') return sayNotChecked(subject, found);
      launcher = found;
      stage = await Stage.open();
    }, 240_000);

    afterAll(() => stage?.close());
    beforeEach(() => stage?.reset());
    afterEach(() => stage?.clear());

    test.each(scenarios)('$title', async ({ run }) => {
      if (stage && launcher) await run({ stage, launcher, other });
    });
  });
}
