import { join } from 'node:path';
import { pythonEnvironment } from '../support/python-environment';
import { ROOT } from '../support/root';
import type { Launcher } from './worker-process';

/** What was built of a source. */
export function builtFile(...path: readonly string[]): string {
  return join(ROOT, 'dist', ...path);
}

export const typescriptWorker: Launcher = {
  command: process.execPath,
  args: [builtFile('examples', 'worker-typescript', 'worker.js')],
  env: {},
};

/** The worker in Python, or in words why it cannot be run here. */
export async function findPythonWorker(): Promise<Launcher | string> {
  const folder = join(ROOT, 'examples', 'worker-python');
  const found = await pythonEnvironment(join(folder, 'requirements.txt'));
  if ('missing' in found) return found.missing;
  return {
    command: found.python,
    args: [join(folder, 'worker.py')],
    env: { PYTHONPATH: join(ROOT, 'generated', 'python'), PYTHONDONTWRITEBYTECODE: '1' },
  };
}
