import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  buildGo,
  buildJava,
  buildRust,
  type BuiltProgram,
  cached,
  digestOf,
  filesBelow,
  pythonEnvironment,
} from '../../test/support/toolchains';
import { ROOT } from '../../test/support/root';
import { loadProgram } from '../support/load-process';
import type { Missing } from '../support/yardsticks';

const FOLDER = join(ROOT, 'bench', 'locks');
/** The Go package and its stubs. */
const CLIENT = join(ROOT, 'clients', 'go');
const STUBS = join(ROOT, 'generated', 'go', 'holdfast');
/** For the first compilation of etcd on a slow machine. */
const BUILD_TIMEOUT_MS = 900_000;
/** The CPU time of an ended thread is not counted, so the Java machine keeps its threads. */
const KEPT_THREADS = ['-XX:-UseDynamicNumberOfCompilerThreads', '-XX:-UseDynamicNumberOfGCThreads'];

/** Builds each program once in a run. */
function once<T>(build: () => Promise<T>): () => Promise<T> {
  let built: Promise<T> | undefined;
  return () => (built ??= build());
}

/** A folder in the user's cache with what `build` makes, until a source changes. `build` resolves to why it could not. */
async function builtFolder(
  name: string,
  sources: readonly string[],
  build: (output: string) => Promise<string | undefined>,
): Promise<{ readonly folder: string } | Missing> {
  let missing: string | undefined;
  try {
    const folder = await cached(`bench-locks-${name}-${digestOf(sources)}`, async (output) => {
      missing = await build(output);
      if (missing !== undefined) throw new Error(missing);
    });
    return { folder };
  } catch (error) {
    if (missing === undefined) throw error;
    return { missing };
  }
}

/** The programs of the Go module: `driver` and `etcd`. */
const goFolder = once(() => {
  const module = join(FOLDER, 'go');
  return builtFolder('go', [module, CLIENT, STUBS].flatMap(filesBelow), (output) =>
    buildGo({ module, packages: './...', output: `${output}/`, timeoutMs: BUILD_TIMEOUT_MS }),
  );
});

const classPath = once(() => {
  const [driver, systems] = ['Driver', 'Systems'].map((name) => join(FOLDER, 'java', `${name}.java`));
  return buildJava(join(FOLDER, 'java', 'pom.xml'), [driver as string, systems as string]);
});

async function goProgram(name: 'driver' | 'etcd'): Promise<BuiltProgram> {
  const built = await goFolder();
  return 'missing' in built ? built : { command: [join(built.folder, name)] };
}

async function javaProgram(mainClass: string): Promise<BuiltProgram> {
  const built = await classPath();
  if ('missing' in built) return built;
  return { command: ['java', ...KEPT_THREADS, '-cp', built.classPath, mainClass] };
}

/** The driver with the Rust package and its stubs as they are in this tree. */
async function rustProgram(): Promise<BuiltProgram> {
  const crates = [join(FOLDER, 'rust'), join(ROOT, 'clients', 'rust'), join(ROOT, 'generated', 'rust')];
  const sources = crates.flatMap((crate) => [join(crate, 'Cargo.toml'), ...filesBelow(join(crate, 'src'))]);
  const [crate = ''] = crates;
  const built = await builtFolder('rust', [join(crate, 'Cargo.lock'), ...sources], (output) =>
    buildRust(crate, ['--release', '--target-dir', output]),
  );
  return 'missing' in built ? built : { command: [join(built.folder, 'release', 'driver')] };
}

async function pythonProgram(): Promise<BuiltProgram> {
  const found = await pythonEnvironment(join(FOLDER, 'python', 'requirements.txt'));
  return 'missing' in found ? found : { command: [found.python, join(FOLDER, 'python', 'driver.py')] };
}

/** The programs that make load on locks, by language. */
export const programs = {
  node: (): Promise<BuiltProgram> => Promise.resolve(loadProgram('locks')),
  go: () => goProgram('driver'),
  java: () => javaProgram('Driver'),
  python: pythonProgram,
  rust: rustProgram,
} as const satisfies Readonly<Record<string, () => Promise<BuiltProgram>>>;

export type ProgramName = keyof typeof programs;

export const etcdProgram = () => goProgram('etcd');
/** The name and the version of the server, such as "etcd 3.6.16". */
export function etcdVersion(): string {
  const module = readFileSync(join(FOLDER, 'go', 'go.mod'), 'utf8');
  const version = /etcd\/server\/v3 v(\S+)/.exec(module)?.[1];
  if (version === undefined) throw new Error('go.mod lacks the server of etcd');
  return `etcd ${version}`;
}

export const zooKeeperProgram = () => javaProgram('org.apache.zookeeper.server.ZooKeeperServerMain');
