import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ModuleKind, ScriptTarget, transpileModule } from 'typescript';
import { closeAll } from '../../support/eventually';
import { RedisProcess } from '../../support/processes/redis-process';
import { ServerProcess } from '../../support/processes/server-process';
import { ROOT } from '../../support/root';
import { scratchFolder } from '../../support/scratch-folder';

const run = promisify(execFile);
const TIMEOUT_MS = 300_000;

let redis: RedisProcess;
let server: ServerProcess;
let folder: string;
let pack: string;

beforeAll(async () => {
  redis = await RedisProcess.start();
  server = await ServerProcess.start({ redisUrl: redis.url });
  folder = scratchFolder();
  pack = await build('first');
  mkdirSync(join(folder, 'user'));
  writeFileSync(join(folder, 'user', 'package.json'), '{ "name": "user", "private": true }');
  await run('npm', ['install', '--no-audit', '--no-fund', pack], { cwd: join(folder, 'user') });
}, TIMEOUT_MS);
afterAll(() =>
  closeAll(
    () => server?.close(),
    () => redis?.close(),
  ),
);

async function build(name: string): Promise<string> {
  const tool = join(ROOT, 'tools', 'pack-typescript.mjs');
  const { stdout } = await run(process.execPath, [tool, join(folder, name)]);
  return stdout.trim();
}

/** The first program of a document, for the server of this test. */
function programOf(document: string): string {
  const [, program] = /```ts\n([^]*?)```/.exec(readFileSync(join(ROOT, document), 'utf8')) ?? [];
  if (program === undefined) throw new Error(`${document} has no program`);
  return program.replace("'127.0.0.1:50051'", `'${server.listen}'`);
}

function runProgram(file: string, program: string) {
  writeFileSync(join(folder, 'user', file), program);
  return run(process.execPath, [file], { cwd: join(folder, 'user') });
}

/** A double of the client without any cast. It compiles only if the public types have no private members. */
const DOUBLES = [
  "import { inspect } from 'node:util';",
  "import type { Dictionary, Holdfast, LeaderLease, Lease, Recents } from '@holdfast/client';",
  "import type { DictionaryInfo, ErrorFacts, Holder } from '@holdfast/client';",
  'type Faked = Pick<Holdfast, "withLock" | "lock" | "close">;',
  'export const lease: Lease = {',
  "  name: 'x', permitCount: 1, fencingToken: 7n, signal: new AbortController().signal, isValid: true,",
  '  loss: undefined, remaining: () => 1000, check: () => undefined,',
  '  release: async () => ({ released: true, lossCause: undefined }), updateMetadata: async () => undefined,',
  "  toJSON: () => ({}), [inspect.custom]: () => '', [Symbol.asyncDispose]: async () => undefined,",
  '};',
  'export const leader: LeaderLease = { ...lease, updateValue: async () => undefined };',
  'export const recents: Recents = {',
  "  list: 'x', add: async () => undefined, remove: async () => true, suggest: async () => [], delete: async () => true,",
  '};',
  'export const faked: Faked = {',
  '  withLock: async (_: string, second: unknown, third?: unknown) => {',
  '    const body = (third ?? second) as (one: Lease) => never;',
  '    return body(lease);',
  '  },',
  '  lock: async () => lease, close: async () => undefined,',
  '};',
  'export type Others = [Dictionary, DictionaryInfo, ErrorFacts, Holder];',
  '',
].join('\n');

/** The options of the caller may be undefined, although the compiler tells a missing option from undefined. */
const STRICT = [
  "import { connect, ContendedError, type ConnectOptions, type Lease, type LockOptions } from '@holdfast/client';",
  "import type { Entry, PermitsOptions, SelectionOptions, TypeAheadOptions } from '@holdfast/client';",
  "import { LockServiceService } from '@holdfast/client/stubs/lock_service';",
  'type AllUndefined<Options> = { [Key in keyof Options]-?: undefined };',
  'export async function work(',
  '  settings: AllUndefined<ConnectOptions>, how: AllUndefined<LockOptions>, permits: AllUndefined<PermitsOptions>,',
  '  typing: AllUndefined<TypeAheadOptions>, selection: AllUndefined<SelectionOptions>,',
  '  unsetOfEntry: AllUndefined<Omit<Entry, "id" | "text">>,',
  '): Promise<bigint | undefined> {',
  "  await using hf = await connect('a:1', settings);",
  "  const lease: Lease = await hf.lock('x', { ...how, ttl: '5s', metadata: { zone: 'a' } });",
  "  await using held = await hf.tryPermits('gpu', permits);",
  "  const towns = hf.dictionary('towns');",
  "  await towns.put([{ id: 'b', text: 'Bonn', ...unsetOfEntry }]);",
  "  await towns.recordSelection('b', selection);",
  '  await towns.create({ profile: { accents: undefined, typos: undefined } });',
  "  await hf.recents('user-7').add('Bonn', { entryId: undefined, payload: undefined, capacity: undefined });",
  "  await towns.typeAhead(typing).type('b');",
  "  const { lock } = await hf.call(LockServiceService.getLock, { name: 'x' });",
  '  if (lock && held && new Error() instanceof ContendedError) return lock.lastFencingToken;',
  '  return hf.withLock(lease.name, ({ fencingToken }) => fencingToken);',
  '}',
  '',
].join('\n');

describe('the package of the TypeScript client', () => {
  it('has the same bytes each time it is built', async () => {
    expect(readFileSync(await build('second')).equals(readFileSync(pack))).toBe(true);
  }, 120_000);

  it('has the version of the project, and no server code', async () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
    expect(pack).toContain(`-${version}.tgz`);
    const { stdout } = await run('tar', ['tzf', pack]);
    const files = stdout.trim().split('\n');
    const [clients, others] = [
      files.filter((one) => one.includes('/lib/')),
      files.filter((one) => !one.includes('/lib/')),
    ];
    expect(others.sort()).toEqual(
      ['LICENSE', 'README.md', 'index.d.mts', 'index.mjs', 'package.json'].map((name) => `package/${name}`),
    );
    expect(clients.filter((one) => !/\/lib\/(clients|generated)\/typescript\//.test(one))).toEqual([]);
  });

  it('has no link in its README that leads out of the package', () => {
    const readme = readFileSync(join(folder, 'user/node_modules/@holdfast/client/README.md'), 'utf8');
    const links = [...readme.matchAll(/\]\(([^)]*)\)/g)].map(([, target = '']) => target);
    expect(links.filter((target) => !/^(https:|#)/.test(target))).toEqual([]);
  });

  it('runs the first example of its README with `import`', async () => {
    const { stdout } = await runProgram('first.mjs', programOf('clients/typescript/README.md'));
    expect(stdout).toMatch(/^read under the fencing token \d+n\ncompute .*\nwrite .*\n$/);
  });

  it('runs the program of its page', async () => {
    const options = { module: ModuleKind.ESNext, target: ScriptTarget.ES2022 };
    const page = transpileModule(programOf('docs/clients/typescript.md'), { compilerOptions: options });
    const { stdout } = await runProgram('report.mjs', page.outputText);
    expect(stdout).toMatch(/^(page [123] under token \d+\n){3}$/);
  });

  it('has every name for `require` and for `import`', async () => {
    const names = 'console.log(Object.keys(client).sort().join())';
    const required = await runProgram('names.cjs', `const client = require('@holdfast/client');\n${names}`);
    const imported = await runProgram('names.mjs', `import * as client from '@holdfast/client';\n${names}`);
    expect(required.stdout.split(',')).toContain('connect');
    const withoutInterop = imported.stdout
      .trim()
      .split(',')
      .filter((name) => !['default', 'module.exports', '__esModule'].includes(name));
    expect(withoutInterop).toEqual(required.stdout.trim().split(','));
  });

  it('has types for strict users of every kind, and the stubs', async () => {
    const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
    const strict = ['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--isolatedModules'];
    const target = ['--target', 'es2022', '--lib', 'es2022,esnext.disposable'];
    const types = ['--typeRoots', join(ROOT, 'node_modules', '@types'), '--types', 'node'];
    const oldCommonJs = ['--module', 'commonjs', '--moduleResolution', 'node10'];
    for (const [file, text, module] of [
      ['strict.mts', STRICT, ['--module', 'nodenext', '--verbatimModuleSyntax']],
      ['strict.cts', STRICT, ['--module', 'nodenext']],
      ['strict.ts', STRICT, oldCommonJs],
      ['doubles.mts', DOUBLES, ['--module', 'node16']],
    ] as const) {
      writeFileSync(join(folder, 'user', file), text);
      const flags = [...strict, ...target, ...types, ...module];
      await run(process.execPath, [tsc, ...flags, file], { cwd: join(folder, 'user') });
    }
  }, 240_000);
});
