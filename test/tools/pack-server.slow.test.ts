import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { eventually } from '../support/eventually';
import { ChildProgram, freePort, inheritedEnvironment } from '../support/processes/child-program';
import { ROOT } from '../support/root';
import { scratchFolder } from '../support/scratch-folder';

const run = promisify(execFile);
const TIMEOUT_MS = 300_000;

/** The npm package of the server, installed as a user installs it: `npm install --global`. */
describe('the package holdfast', () => {
  let folder: string;
  let pack: string;
  const program = (): string => join(folder, 'prefix', 'bin', 'holdfast');

  async function build(name: string): Promise<string> {
    const { stdout } = await run(process.execPath, [
      join(ROOT, 'tools', 'pack-server.mjs'),
      join(folder, name),
    ]);
    return stdout.trim();
  }

  beforeAll(async () => {
    folder = scratchFolder();
    pack = await build('first');
    const prefix = join(folder, 'prefix');
    mkdirSync(prefix);
    await run('npm', ['install', '--global', '--prefix', prefix, '--no-audit', '--no-fund', pack]);
  }, TIMEOUT_MS);

  it(
    'has the same bytes each time it is packed',
    async () => {
      expect(readFileSync(await build('second')).equals(readFileSync(pack))).toBe(true);
    },
    TIMEOUT_MS,
  );

  it('has the program and the contract, and no tests', async () => {
    const { stdout } = await run('tar', ['tzf', pack]);
    const files = stdout.trim().split('\n');
    expect(files).toContain('package/dist/src/main.js');
    expect(files).toContain('package/dist/generated/descriptor.binpb');
    expect(files).toContain('package/proto/holdfast/v1/lock_service.proto');
    expect(files.filter((file) => /\/(test|bench|conformance|tools)\/|\.map$/.test(file))).toEqual([]);
    const tops = new Set(files.map((file) => file.split('/')[1]));
    expect([...tops].sort()).toEqual([
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'dist',
      'package.json',
      'proto',
    ]);
    const manifest = await run('tar', ['xzOf', pack, 'package/package.json']);
    expect(Object.keys(JSON.parse(manifest.stdout) as object)).not.toContain('devDependencies');
  });

  it('prints its version', async () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
    const { stdout } = await run(program(), ['--version'], { env: inheritedEnvironment() });
    expect(stdout).toBe(`${version}\n`);
  });

  it(
    'runs a server for development, and a command under a lock of this server',
    async () => {
      const address = `127.0.0.1:${await freePort()}`;
      const cwd = join(folder, 'work');
      mkdirSync(cwd);
      const dev = new ChildProgram({
        label: 'holdfast dev',
        command: 'sh',
        args: ['-c', 'cd "$1" && exec "$2" dev', 'sh', cwd, program()],
        env: { ...inheritedEnvironment(), HOLDFAST_LISTEN: address, HOLDFAST_ADMIN_LISTEN: 'off' },
      });
      await dev.start();
      try {
        await eventually(
          'the banner',
          () => dev.exit !== undefined || dev.output.some((line) => line.includes('Ctrl-C drains')),
          { timeoutMs: 60_000 },
        );
        const words = [
          'lock',
          'run',
          'hello',
          '--address',
          address,
          '--',
          'sh',
          '-c',
          'echo "$HOLDFAST_NAME"',
        ];
        const { stdout } = await run(program(), words, { env: inheritedEnvironment() });
        expect(stdout).toBe('hello\n');
        dev.signal('SIGTERM');
        expect(await dev.ended(60_000)).toEqual({ code: 0, signal: null });
      } catch (error) {
        throw new Error(`${(error as Error).message}\n${dev.output.join('\n')}`, { cause: error });
      } finally {
        await dev.close();
      }
    },
    TIMEOUT_MS,
  );
});
