import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { sayNotChecked } from '../../support/not-checked';
import { RedisProcess } from '../../support/processes/redis-process';
import { ServerProcess } from '../../support/processes/server-process';
import { pythonEnvironment, type PythonEnvironment } from '../../support/toolchains';
import { ROOT } from '../../support/root';
import { scratchFolder } from '../../support/scratch-folder';

/**
 * The wheel of the Python client, its own tests, and its types. Without a Python of version 3.9 and the packages, each
 * test is reported on stderr as "not checked".
 */

const run = promisify(execFile);
/** The first run installs packages. */
const INSTALL_TIMEOUT_MS = 300_000;
const RUN_TIMEOUT_MS = 120_000;
const CLIENT = join(ROOT, 'clients', 'python');

let environment: PythonEnvironment;

beforeAll(async () => {
  environment = await pythonEnvironment(join(CLIENT, 'tests', 'requirements.txt'));
  if ('missing' in environment) return;
  const check = 'import sys; sys.exit(0 if sys.version_info >= (3, 9) else 1)';
  await run(environment.python, ['-c', check]).catch(() => (environment = { missing: 'Python is too old' }));
}, INSTALL_TIMEOUT_MS);

/** Runs a Python program without the bytecode and the packages of the source. */
async function python(args: readonly string[], cwd: string, path: string): Promise<string> {
  if ('missing' in environment) throw new Error(environment.missing);
  const env = { ...process.env, PYTHONPATH: path, PYTHONDONTWRITEBYTECODE: '1' };
  const { stdout } = await run(environment.python, args, { cwd, env, timeout: RUN_TIMEOUT_MS });
  return stdout;
}

async function buildWheel(): Promise<string> {
  if ('missing' in environment) throw new Error(environment.missing);
  const script = join(ROOT, 'tools', 'pack-python.mjs');
  const args = [script, scratchFolder(), environment.python, '--no-build-isolation'];
  const { stdout } = await run(process.execPath, args, { timeout: RUN_TIMEOUT_MS });
  return stdout.trim();
}

/** The two whole programs of a document: one for threads, one for asyncio. */
function programsOf(document: string): string[] {
  const blocks = [...readFileSync(join(ROOT, document), 'utf8').matchAll(/```python\n(.*?)```/gs)];
  return blocks.slice(0, 2).map(([, program = '']) => program);
}

test(
  'the wheel has the same bytes in each build, and alone runs the programs of its README and its page',
  async () => {
    if ('missing' in environment) return sayNotChecked('the wheel of the Python client', environment.missing);
    const wheel = await buildWheel();
    expect(readFileSync(await buildWheel()).equals(readFileSync(wheel))).toBe(true);
    const folder = scratchFolder();
    await python(['-m', 'pip', 'install', '--no-index', '--no-deps', '--target', folder, wheel], folder, '');
    const redis = await RedisProcess.start();
    const server = await ServerProcess.start({ redisUrl: redis.url });
    try {
      const outputs: string[] = [];
      for (const program of [
        ...programsOf('clients/python/README.md'),
        ...programsOf('docs/clients/python.md'),
      ]) {
        const here = program.replace('127.0.0.1:50051', server.listen);
        outputs.push(await python(['-c', here], folder, folder));
      }
      expect(outputs).toEqual([
        expect.stringMatching(/^read under the fencing token \d+\ncompute .* \d+\nwrite .* \d+\n$/),
        expect.stringMatching(/^under the fencing token \d+\n$/),
        expect.stringMatching(/^(page [123] under token \d+\n){3}$/),
        expect.stringMatching(/^(page [123] under token \d+\n){3}$/),
      ]);
    } finally {
      await server.close();
      await redis.close();
    }
  },
  2 * RUN_TIMEOUT_MS,
);

test(
  'the tests of the Python client pass',
  async () => {
    if ('missing' in environment) return sayNotChecked('the tests in Python', environment.missing);
    await python(['-m', 'unittest', 'discover', '-t', '.', '-s', 'tests'], CLIENT, 'src');
  },
  RUN_TIMEOUT_MS,
);

test(
  'the Python client has strict types',
  async () => {
    if ('missing' in environment) return sayNotChecked('the types of the Python client', environment.missing);
    const cache = join(scratchFolder(), 'mypy');
    expect(await python(['-m', 'mypy', '--cache-dir', cache], CLIENT, '')).toMatch(/^Success/);
  },
  RUN_TIMEOUT_MS,
);
