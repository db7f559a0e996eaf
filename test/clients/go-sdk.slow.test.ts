import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { sayNotChecked } from '../support/not-checked';
import { RedisProcess } from '../support/processes/redis-process';
import { ServerProcess } from '../support/processes/server-process';
import { ROOT } from '../support/root';
import { scratchFolder } from '../support/scratch-folder';
import { missingGo } from '../support/toolchains';

/**
 * The tests of the Go client, and its package in an empty folder. A missing toolchain is reported on stderr as "not
 * checked".
 */

const execute = promisify(execFile);
const SOURCES = join(ROOT, 'clients', 'go');
/** The first build compiles gRPC, with the race detector too. */
const TIMEOUT_MS = 900_000;

let redis: RedisProcess;
let server: ServerProcess;
let missing: string | undefined;

beforeAll(async () => {
  missing = await missingGo(SOURCES);
  redis = await RedisProcess.start();
  server = await ServerProcess.start({ redisUrl: redis.url });
}, TIMEOUT_MS);

afterAll(async () => {
  await server?.close();
  await redis?.close();
});

type Environment = Readonly<Record<string, string>>;

async function go(args: readonly string[], cwd: string, env: Environment = {}): Promise<string> {
  const options = { cwd, env: { ...process.env, ...env }, timeout: TIMEOUT_MS, maxBuffer: 1e8 };
  try {
    return (await execute('go', args, options)).stdout;
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    throw new Error(`go ${args.join(' ')} failed:\n${(stdout + stderr).slice(-8000)}`, { cause: error });
  }
}

/** The race detector needs cgo and a C compiler. */
async function raceDetector(): Promise<string[]> {
  const found = await go(['env', 'CGO_ENABLED'], SOURCES);
  if (found.trim() === '1') return ['-race'];
  sayNotChecked('data races in the Go client', 'cgo is not available');
  return [];
}

test(
  'the tests of the Go client pass with a server, without a data race',
  async () => {
    if (missing !== undefined) return sayNotChecked('the Go client', missing);
    const args = ['test', '-count=1', ...(await raceDetector()), './...'];
    expect(await go(args, SOURCES, { SERVER_UNDER_TEST: server.listen })).toMatch(
      /^ok\s+holdfast\.dev\/go\s/m,
    );
    expect(await go(['vet', './...'], SOURCES)).toBe('');
  },
  TIMEOUT_MS,
);

/** Packs the module into a new folder. */
async function pack(): Promise<string> {
  const folder = scratchFolder();
  await execute('node', [join(ROOT, 'tools', 'pack-go.mjs'), folder]);
  return folder;
}

const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };

test('two packs of the same sources have the same bytes', async () => {
  const zips = (await Promise.all([pack(), pack()])).map((folder) =>
    readFileSync(join(folder, 'proxy', 'holdfast.dev', 'go', '@v', `v${version}.zip`)),
  );
  expect(zips[0]?.equals(zips[1] ?? Buffer.alloc(0))).toBe(true);
});

/** An own module cache, because an older package of the same version may lie in that of the user. */
async function packageEnvironment(folder: string): Promise<Environment> {
  const shared = (await go(['env', 'GOMODCACHE'], SOURCES)).trim();
  const proxy = (await go(['env', 'GOPROXY'], SOURCES)).trim();
  return {
    GOPROXY: `file://${join(folder, 'proxy')},file://${join(shared, 'cache', 'download')},${proxy}`,
    GOMODCACHE: join(folder, 'cache'),
    GOFLAGS: '-modcacherw',
    GOSUMDB: 'off',
  };
}

/** The first whole program of a document, for the server of this test. */
function programOf(...document: readonly string[]): string {
  const text = readFileSync(join(ROOT, ...document), 'utf8');
  const [, program] = /```go\n(package main[^]*?)```/.exec(text) ?? [];
  if (program === undefined) throw new Error(`${document.join('/')} has no program`);
  return program.replace('127.0.0.1:50051', server.listen);
}

test(
  'the programs of the documents run in an empty folder with the packed module',
  async () => {
    if (missing !== undefined) return sayNotChecked('the package of the Go client', missing);
    const folder = await pack();
    const env = await packageEnvironment(folder);
    const empty = join(folder, 'program');
    mkdirSync(empty);
    const main = join(empty, 'main.go');
    writeFileSync(main, programOf('clients', 'go', 'README.md'));
    await go(['mod', 'init', 'example.com/program'], empty, env);
    await go(['get', `holdfast.dev/go@v${version}`], empty, env);
    await go(['mod', 'tidy'], empty, env);
    expect(await go(['run', '.'], empty, env)).toMatch(/^the report is written under token \d+\n$/);
    writeFileSync(main, programOf('docs', 'clients', 'go.md'));
    expect(await go(['run', '.'], empty, env)).toMatch(/^(step [123] under token \d+\n){3}$/);
  },
  TIMEOUT_MS,
);
