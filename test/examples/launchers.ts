import { delimiter, join } from 'node:path';
import { pythonEnvironment } from '../support/python-environment';
import { ROOT } from '../support/root';
import type { Launcher } from './worker-process';

export function builtFile(...path: readonly string[]): string {
  return join(ROOT, 'dist', ...path);
}

export const typescriptWorker: Launcher = {
  command: process.execPath,
  args: [builtFile('examples', 'worker-typescript', 'worker.js')],
  env: {},
};

/** The command for a Python program of the examples, or the reason why the program cannot run on this machine. */
export async function findPythonExample(folder: string, program: string): Promise<Launcher | string> {
  const common = join(ROOT, 'examples', 'python-common');
  const found = await pythonEnvironment(join(common, 'requirements.txt'));
  if ('missing' in found) return found.missing;
  return {
    command: found.python,
    args: [join(ROOT, 'examples', folder, program)],
    env: {
      PYTHONPATH: [join(ROOT, 'generated', 'python'), common].join(delimiter),
      PYTHONDONTWRITEBYTECODE: '1',
    },
  };
}
