import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  buildGo,
  buildJava,
  buildRelease,
  type BuiltProgram,
  cached,
  digestOf,
  filesBelow,
  missingRust,
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

/** The programs of the Go module: `driver` and `etcd`. They are in the user's cache, until a file of the module changes. */
const goFolder = once(async (): Promise<{ readonly folder: string } | Missing> => {
  const module = join(FOLDER, 'go');
  let missing: string | undefined;
  try {
    const sources = [module, CLIENT, STUBS].flatMap(filesBelow);
    const folder = await cached(`bench-locks-go-${digestOf(sources)}`, async (output) => {
      missing = await buildGo({
        module,
        packages: './...',
        output: `${output}/`,
        timeoutMs: BUILD_TIMEOUT_MS,
      });
      if (missing !== undefined) throw new Error(missing);
    });
    return { folder };
  } catch (error) {
    if (missing === undefined) throw error;
    return { missing };
  }
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

/** The crate of the Rust package's driver, with the package and its stubs as they are in this tree. */
async function rustProgram(): Promise<BuiltProgram> {
  const crate = join(FOLDER, 'rust');
  const missing = await missingRust(crate);
  if (missing !== undefined) return { missing };
  const sources = [
    ...['Cargo.toml', 'Cargo.lock', 'src/main.rs'].map((file) => join(crate, file)),
    ...['clients', 'generated'].map((folder) => join(ROOT, folder, 'rust', 'Cargo.toml')),
    ...[join('clients', 'rust', 'src'), join('generated', 'rust', 'src')].flatMap((folder) =>
      filesBelow(join(ROOT, folder)),
    ),
  ];
  const folder = await cached(`bench-locks-rust-${digestOf(sources)}`, (output) =>
    buildRelease(crate, output),
  );
  return { command: [join(folder, 'release', 'driver')] };
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
