import { join } from 'node:path';
import { ChildProgram } from '../support/processes/child-program';
import { ROOT } from '../support/root';

const PROGRAM = join(ROOT, 'dist', 'test', 'faults', 'import-program.js');

/** Starts a process with a client that imports until the test kills the process. */
export async function startImportProcess(address: string, dictionary: string): Promise<ChildProgram> {
  const program = new ChildProgram({ label: 'the import', args: [PROGRAM, address, dictionary] });
  await program.start();
  return program;
}
