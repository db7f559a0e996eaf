import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';

/** The environment variable with the folder of a test run. */
export const RUN_FOLDER = 'TEST_RUN_FOLDER';

/** Makes a folder for the tests of one file. It is removed after the test run, because servers watch files in it. */
export function scratchFolder(): string {
  const parent = process.env[RUN_FOLDER];
  if (parent === undefined) throw new Error('the global setup of the tests has not run');
  return mkdtempSync(join(parent, 'files-'));
}
