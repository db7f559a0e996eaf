import { join } from 'node:path';
import { ChildProgram } from '../../support/processes/child-program';
import { ROOT } from '../../support/root';

/** Enough for a machine with busy cores. */
const TIMEOUT_MS = 900_000;

it(
  'a case of the conformance kit fails for each mutant of the TypeScript client',
  async () => {
    const main = join(ROOT, 'dist', 'clients', 'conformance', 'run.js');
    const run = new ChildProgram({ label: 'the run of the mutants', args: [main, '--mutants'] });
    try {
      await run.start();
      const { code } = await run.ended(TIMEOUT_MS);
      const problems = run.output.filter((line) => /^(SURVIVED|BROKEN|FAILED)/.test(line));
      expect({ code, problems }).toEqual({ code: 0, problems: [] });
      expect(run.output.join('\n')).toMatch(/^mutants: [1-9]\d+ caught, 0 survived, 0 broken$/m);
    } finally {
      await run.close();
    }
  },
  TIMEOUT_MS,
);
