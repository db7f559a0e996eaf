import { join } from 'node:path';
import { buildGo, buildMaven, buildRust, type Program, pythonEnvironment } from '../support/toolchains';
import { ROOT } from '../support/root';
import { scratchFolder } from '../support/scratch-folder';

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

/** For the first compilation of gRPC. */
const GO_BUILD_TIMEOUT_MS = 600_000;

export const GO: ExampleLanguage = {
  language: 'Go',
  find: async () => {
    const folder = scratchFolder();
    const module = join(ROOT, 'examples', 'go');
    const output = `${folder}/`;
    const missing = await buildGo({ module, packages: './...', output, timeoutMs: GO_BUILD_TIMEOUT_MS });
    return missing === undefined ? (name) => ({ command: [join(folder, name)] }) : { missing };
  },
};

const JAVA_CLASSES: Readonly<Record<ExampleName, string>> = {
  worker: 'WorkerExample',
  pool: 'PoolExample',
  leader: 'LeaderExample',
  'type-ahead': 'TypeAheadExample',
};

export const JAVA: ExampleLanguage = {
  language: 'Java',
  find: async () => {
    const folder = join(ROOT, 'examples', 'java');
    const missing = await buildMaven(join(folder, 'build', 'pom.xml'));
    if (missing !== undefined) return { missing };
    const jar = join(folder, 'target', 'examples.jar');
    // Without the second compiler, the many short processes start sooner.
    const java = ['java', '-XX:TieredStopAtLevel=1', '-cp', jar] as const;
    return (name) => ({ command: [...java, `dev.holdfast.examples.${JAVA_CLASSES[name]}`] });
  },
};

export const RUST: ExampleLanguage = {
  language: 'Rust',
  find: async () => {
    const folder = join(ROOT, 'examples', 'rust');
    const missing = await buildRust(folder);
    if (missing !== undefined) return { missing };
    return (name) => ({ command: [join(folder, 'target', 'debug', name)] });
  },
};
