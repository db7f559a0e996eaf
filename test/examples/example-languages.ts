import { join } from 'node:path';
import { pythonEnvironment } from '../support/python-environment';
import { ROOT } from '../support/root';
import type { Program } from '../support/toolchains';

export type ExampleName = 'worker' | 'pool' | 'leader' | 'type-ahead';

/** The program of each example, or the reason why the examples cannot run on this machine. */
export type FoundExamples = ((name: ExampleName) => Program) | { readonly missing: string };

export interface ExampleLanguage {
  readonly language: string;
  /** Builds the examples, if necessary. */
  readonly find: () => Promise<FoundExamples>;
}

export function builtExample(...path: readonly string[]): Program {
  return { command: [process.execPath, join(ROOT, 'dist', 'examples', ...path)] };
}

export const TYPESCRIPT: ExampleLanguage = {
  language: 'TypeScript',
  find: () => Promise.resolve((name: ExampleName) => builtExample('typescript', `${name}.js`)),
};

export const PYTHON: ExampleLanguage = {
  language: 'Python',
  find: async () => {
    const client = join(ROOT, 'clients', 'python');
    const found = await pythonEnvironment(join(client, 'tests', 'requirements.txt'));
    if ('missing' in found) return found;
    const env = { PYTHONPATH: join(client, 'src'), PYTHONDONTWRITEBYTECODE: '1' };
    return (name) => {
      const file = join(ROOT, 'examples', 'python', `${name.replace('-', '_')}.py`);
      return { command: [found.python, file], env };
    };
  },
};
