import { join } from 'node:path';
import { ChildProgram } from '../support/processes/child-program';
import { ROOT } from '../support/root';

/** Enough for a machine with busy cores. */
const TIMEOUT_MS = 900_000;

/** `npm run test:mutants` runs the mutants of all scripts. */
it.each(['lease-touch', 'entries-drop'])(
  'a test fails for each mutant of %s that survivors.ts does not explain',
  async (file) => {
    const main = join(ROOT, 'dist', 'test', 'mutants', 'main.js');
    const run = new ChildProgram({ label: 'the mutation run', args: [main, '--file', file] });
    try {
      await run.start();
      const { code } = await run.ended(TIMEOUT_MS);
      expect({ code, output: run.output }).toEqual({ code: 0, output: run.output });
      expect(run.output.join('\n')).toMatch(/^[1-9]\d+ killed, \d+ explained survivors, 0 others/m);
    } finally {
      await run.close();
    }
  },
  TIMEOUT_MS,
);
