import { execFile, type ExecFileException } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { scratchFolder } from '../support/scratch-folder';

// Several compilers and npm run at the same time, beside other tests.
jest.setTimeout(120_000);

const ROOT = resolve(__dirname, '../..');
const SCRIPTS = [
  ...['tools/prepare.mjs', 'tools/install.mjs', 'tools/build.mjs', 'tools/swc-options.cjs'],
  'src/dev/pid-lock.cjs',
];

interface Outcome {
  readonly code: number;
  readonly output: string;
}

/** The packages of the small project: those of this project. */
const PACKAGES: Readonly<Record<string, { readonly main: string; readonly text: string }>> = {
  '@swc/core': { main: 'index.js', text: `module.exports = require(${installed('@swc/core')});` },
  typescript: { main: 'bin/tsc', text: `require(${installed('typescript/lib/tsc.js')});` },
};

const DEPENDENCIES = Object.fromEntries(Object.keys(PACKAGES).map((name) => [name, `file:packages/${name}`]));

function installed(file: string): string {
  return JSON.stringify(join(ROOT, 'node_modules', file));
}

/** A small project with the real scripts. Its packages are folders, so npm needs no network. */
class Project {
  readonly root = scratchFolder();

  constructor() {
    for (const script of SCRIPTS) this.write(script, readFileSync(join(ROOT, script)));
    this.json('package.json', {
      name: 'small',
      version: '1.0.0',
      engines: { node: '>=20.11' },
      dependencies: DEPENDENCIES,
    });
    for (const [name, { main, text }] of Object.entries(PACKAGES)) {
      this.json(`packages/${name}/package.json`, { name, version: '1.0.0', main });
      this.write(`packages/${name}/${main}`, text);
    }
    this.lock('1.0.0');
    this.json('tsconfig.json', {
      compilerOptions: { outDir: 'dist', rootDir: '.', module: 'Node16', lib: ['ES5'], types: [] },
      include: ['src', 'generated/redis'],
    });
    this.write('src/main.ts', "export const answer: string = 'first';\n");
    this.write('src/redis/scripts/one.lua', 'return 1\n');
    this.write(
      'tools/embed-scripts.mjs',
      `import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
       mkdirSync('generated/redis', { recursive: true });
       const lua = readFileSync('src/redis/scripts/one.lua', 'utf8');
       writeFileSync('generated/redis/scripts.ts', 'export const one = ' + JSON.stringify(lua) + ';');`,
    );
    this.write('generated/descriptor.binpb', 'descriptor');
    this.json('clients/typescript/package.json', { name: '@holdfast/client' });
  }

  path(name: string): string {
    return join(this.root, name);
  }

  write(name: string, content: string | Uint8Array): void {
    mkdirSync(dirname(this.path(name)), { recursive: true });
    writeFileSync(this.path(name), content);
  }

  json(name: string, content: object): void {
    this.write(name, JSON.stringify(content, null, 2));
  }

  read(name: string): string {
    return readFileSync(this.path(name), 'utf8');
  }

  /** Writes a lock file. A different version gives a different content. */
  lock(version: string): void {
    const packages = Object.keys(PACKAGES).flatMap((name) => [
      [`packages/${name}`, { name, version: '1.0.0' }],
      [`node_modules/${name}`, { resolved: `packages/${name}`, link: true }],
    ]);
    this.json('package-lock.json', {
      name: 'small',
      version,
      lockfileVersion: 3,
      requires: true,
      packages: {
        '': { name: 'small', version, dependencies: DEPENDENCIES },
        ...Object.fromEntries(packages),
      },
    });
  }

  prepare(...args: string[]): Promise<Outcome> {
    return this.prepareWith([], args);
  }

  prepareWith(nodeArgs: string[], args: string[]): Promise<Outcome> {
    return this.run(...nodeArgs, this.path('tools/prepare.mjs'), ...args);
  }

  run(...command: readonly string[]): Promise<Outcome> {
    return new Promise((done) => {
      execFile(process.execPath, command, { cwd: this.root }, (error: ExecFileException | null, out, err) =>
        done({ code: error ? Number(error.code) : 0, output: out + err }),
      );
    });
  }
}

describe('prepare.mjs', () => {
  let made: Project;
  let first: Outcome;
  let project: Project;

  beforeAll(async () => {
    made = new Project();
    first = await made.prepare();
  });
  beforeEach(() => {
    project = new Project();
    rmSync(project.root, { recursive: true });
    cpSync(made.root, project.root, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
  });
  afterEach(() => rmSync(project.root, { recursive: true, force: true }));
  afterAll(() => rmSync(made.root, { recursive: true, force: true }));

  it('installs and builds a fresh clone', () => {
    expect(first).toMatchObject({ code: 0 });
    expect(first.output).toMatch(/not installed yet: npm ci/);
    expect(made.read('dist/src/main.js')).toContain('first');
    expect(made.read('dist/generated/redis/scripts.js')).toContain('return 1');
    expect(made.read('dist/generated/descriptor.binpb')).toBe('descriptor');
    expect(existsSync(made.path('dist/src/dev/pid-lock.cjs'))).toBe(true);
    expect(made.read('dist/node_modules/@holdfast/client/package.json')).toContain('@holdfast/client');
  });

  it('does nothing when the project is built, and prints nothing with --quiet', async () => {
    const before = statSync(project.path('dist/src/main.js')).mtimeMs;
    expect(await project.prepare('--quiet')).toEqual({ code: 0, output: '' });
    expect((await project.prepare()).output).toMatch(/nothing to do/);
    expect(statSync(project.path('dist/src/main.js')).mtimeMs).toBe(before);
  });

  it('ignores a file with a new time and the same content', async () => {
    utimesSync(project.path('src/main.ts'), new Date(), new Date());
    expect(await project.prepare('--quiet')).toEqual({ code: 0, output: '' });
  });

  it('builds again when a source or a script has changed', async () => {
    project.write('src/main.ts', "export const answer: string = 'second';\n");
    project.write('src/redis/scripts/one.lua', 'return 2\n');
    expect((await project.prepare('--quiet')).output).toMatch(/the sources have changed: building/);
    expect(project.read('dist/src/main.js')).toContain('second');
    expect(project.read('dist/generated/redis/scripts.js')).toContain('return 2');
    expect(await project.prepare('--quiet')).toEqual({ code: 0, output: '' });
  });

  it('removes the output of a deleted source from dist/', async () => {
    project.write('src/old.ts', 'export const old = 1;\n');
    await project.prepare();
    expect(existsSync(project.path('dist/src/old.js'))).toBe(true);
    rmSync(project.path('src/old.ts'));
    await project.prepare();
    expect(existsSync(project.path('dist/src/old.js'))).toBe(false);
    expect(existsSync(project.path('dist/src/main.js'))).toBe(true);
  });

  it('builds again when a file of dist/ is missing', async () => {
    rmSync(project.path('dist/src/main.js'));
    expect((await project.prepare()).output).toMatch(/dist\/src\/main\.js is missing/);
    expect(existsSync(project.path('dist/src/main.js'))).toBe(true);
  });

  it('fails with the output of the compiler, and builds again at the next run', async () => {
    project.write('src/main.ts', 'export const answer = ;\n');
    const failed = await project.prepare('--quiet');
    expect(failed.code).toBe(1);
    expect(failed.output).toMatch(/the build failed[^]*Expression expected[^]*src\/main\.ts/);
    expect((await project.prepare('--quiet')).code).toBe(1);
    project.write('src/main.ts', "export const answer: string = 'third';\n");
    expect((await project.prepare('--quiet')).code).toBe(0);
    expect(project.read('dist/src/main.js')).toContain('third');
  });

  it('builds a wrong type, which npm run build reports', async () => {
    project.write('src/main.ts', 'export const answer: string = 1;\n');
    expect((await project.prepare('--quiet')).code).toBe(0);
    const built = await project.run('tools/build.mjs');
    expect(built.code).toBe(1);
    expect(built.output).toMatch(/main\.ts.*TS2322[^]*the build failed in .*tsc/);
  });

  it('installs again when the lock file has changed', async () => {
    project.lock('1.0.1');
    expect((await project.prepare()).output).toMatch(/package-lock\.json has changed: npm ci/);
    expect(await project.prepare('--quiet')).toEqual({ code: 0, output: '' });
  });

  it('installs again after an install that was interrupted', async () => {
    // A killed `npm ci` leaves some packages. These two files are written last, so they are missing.
    rmSync(project.path('node_modules/.holdfast-installed'));
    rmSync(project.path('node_modules/.package-lock.json'));
    expect((await project.prepare()).output).toMatch(/not installed yet: npm ci/);
  });

  it('does not install again after a manual npm ci', async () => {
    rmSync(project.path('node_modules/.holdfast-installed'));
    expect((await project.prepare()).output).not.toMatch(/npm ci/);
  });

  it('reports the exit code when npm fails', async () => {
    rmSync(project.path('node_modules'), { recursive: true });
    project.write('package-lock.json', '{ "lockfileVersion": 3, "packages": {} }');
    const failed = await project.prepare();
    expect(failed.code).toBe(1);
    expect(failed.output).toMatch(/npm ci failed with exit code 1/);
  });

  it('installs and builds once when three processes start at the same time', async () => {
    rmSync(project.path('dist'), { recursive: true });
    rmSync(project.path('node_modules'), { recursive: true });
    const outcomes = await Promise.all([
      project.prepare(),
      project.prepare('--quiet'),
      project.prepare('--quiet'),
    ]);
    expect(outcomes.map(({ code }) => code)).toEqual([0, 0, 0]);
    expect(outcomes.filter(({ output }) => /npm ci/.test(output))).toHaveLength(1);
    expect(outcomes.filter(({ output }) => /building/.test(output))).toHaveLength(1);
    expect(project.read('dist/src/main.js')).toContain('first');
  });

  it('names the required Node version when the running Node is too old', async () => {
    const manifest = JSON.parse(project.read('package.json')) as object;
    project.json('package.json', { ...manifest, engines: { node: '>=999.1' } });
    const refused = await project.prepare('--quiet');
    expect(refused.code).toBe(1);
    expect(refused.output).toContain(`Node 999.1 or newer is needed; this is Node ${process.versions.node}`);
  });
});
