import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { sayNotChecked } from '../support/not-checked';
import { RedisProcess } from '../support/processes/redis-process';
import { ServerProcess } from '../support/processes/server-process';
import { ROOT } from '../support/root';
import { scratchFolder } from '../support/scratch-folder';
import { filesBelow, missingRust } from '../support/toolchains';

/**
 * The tests of the Rust client, and its package in an empty folder. A missing toolchain is reported on stderr as "not
 * checked".
 */

const execute = promisify(execFile);
const SOURCES = join(ROOT, 'clients', 'rust');
/** The first build compiles tokio, tonic and ring. */
const TIMEOUT_MS = 900_000;

let redis: RedisProcess;
let server: ServerProcess;
let missing: string | undefined;

beforeAll(async () => {
  missing = await missingRust(SOURCES);
  redis = await RedisProcess.start();
  server = await ServerProcess.start({ redisUrl: redis.url });
}, TIMEOUT_MS);

afterAll(async () => {
  await server?.close();
  await redis?.close();
});

async function cargo(args: readonly string[], cwd: string): Promise<string> {
  // The program of the package uses the libraries that the tests have compiled.
  const env = { ...process.env, CARGO_TARGET_DIR: join(SOURCES, 'target') };
  const options = { cwd, env, timeout: TIMEOUT_MS, maxBuffer: 1e8 };
  try {
    return (await execute('cargo', args, options)).stdout;
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    throw new Error(`cargo ${args.join(' ')} failed:\n${(stdout + stderr).slice(-8000)}`, { cause: error });
  }
}

test(
  'the tests of the Rust client pass',
  async () => {
    if (missing !== undefined) return sayNotChecked('the Rust client', missing);
    const output = await cargo(['test', '--locked', '--package', 'holdfast-client'], SOURCES);
    expect(output).toMatch(/^test result: ok\. [1-9]\d* passed; 0 failed/m);
  },
  TIMEOUT_MS,
);

test(
  'the documentation of the Rust client has no broken link',
  async () => {
    if (missing !== undefined) return sayNotChecked('the Rust client', missing);
    const args = ['rustdoc', '--locked', '--package', 'holdfast-client'];
    await cargo([...args, '--', '-D', 'warnings'], SOURCES);
  },
  TIMEOUT_MS,
);

/** Packs the crates into a new folder. */
async function pack(): Promise<string> {
  const folder = scratchFolder();
  await execute('node', [join(ROOT, 'tools', 'pack-rust.mjs'), folder]);
  return folder;
}

test('two packs of the same sources have the same bytes', async () => {
  const [first = '', second = ''] = await Promise.all([pack(), pack()]);
  const contents = (folder: string): string[] =>
    filesBelow(folder).map((file) => `${file.slice(folder.length)}\n${readFileSync(file, 'utf8')}`);
  expect(contents(first)).toEqual(contents(second));
  expect(contents(first).length).toBeGreaterThan(30);
});

/** The first whole program of a document, for the server of this test. */
function programOf(...document: readonly string[]): string {
  const text = readFileSync(join(ROOT, ...document), 'utf8');
  const programs = [...text.matchAll(/```rust.*\n([^]*?)```/g)].map(([, code = '']) => code);
  const program = programs.find((code) => code.includes('async fn main'));
  if (program === undefined) throw new Error(`${document.join('/')} has no program`);
  return program.replace('127.0.0.1:50051', server.listen);
}

const MANIFEST = `[package]
name = "program"
version = "0.0.0"
edition = "2024"

[dependencies]
holdfast-client = { path = "../holdfast-client" }
tokio = { version = "1", features = ["macros", "rt-multi-thread", "time"] }
`;

test(
  'the programs of the documents run in an empty folder with the packed crates',
  async () => {
    if (missing !== undefined) return sayNotChecked('the package of the Rust client', missing);
    const program = join(await pack(), 'program');
    mkdirSync(join(program, 'src'), { recursive: true });
    writeFileSync(join(program, 'Cargo.toml'), MANIFEST);
    // The tested versions of the libraries.
    copyFileSync(join(SOURCES, 'Cargo.lock'), join(program, 'Cargo.lock'));
    const main = join(program, 'src', 'main.rs');
    writeFileSync(main, programOf('clients', 'rust', 'README.md'));
    expect(await cargo(['run', '--quiet'], program)).toMatch(/^the report is written under token \d+\n$/);
    writeFileSync(main, programOf('docs', 'clients', 'rust.md'));
    expect(await cargo(['run', '--quiet'], program)).toMatch(/^(step [123] under token \d+\n){3}$/);
  },
  TIMEOUT_MS,
);
