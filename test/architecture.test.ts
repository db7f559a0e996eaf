import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import ts from 'typescript';

/** Rules that the compiler does not check: the imports between folders, and the uses of some global objects. */

const ROOT = [join(__dirname, '..'), join(__dirname, '..', '..')].find((folder) =>
  existsSync(join(folder, 'package-lock.json')),
)!;
const SRC = join(ROOT, 'src');
const SDK = join(ROOT, 'clients', 'typescript');

/** The rooms that each room may import. A room is a folder of src/, a file directly in src/, or the TypeScript SDK. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  engine: [],
  redis: ['engine', 'redis-address', 'redis-version', 'generated/redis'],
  wire: ['generated/typescript'],
  transport: ['engine', 'wire', 'generated/typescript'],
  config: ['redis-address'],
  log: ['config'],
  version: [],
  'redis-address': [],
  'redis-version': [],
  startup: ['config', 'engine', 'redis'],
  metrics: ['engine', 'redis', 'transport'],
  tracing: ['engine', 'transport'],
  server: ['config', 'startup', 'transport', 'engine', 'redis', 'metrics', 'tracing', 'version'],
  main: ['config', 'log', 'server', 'tracing'],
  dev: ['main', 'redis-version'],
  cli: [
    'clients/typescript',
    'generated/typescript',
    'wire',
    'config',
    'version',
    'main',
    'dev',
    'transport',
  ],
  'clients/typescript': ['generated/typescript'],
};

/** For each package, the rooms that may import the package. */
const PACKAGE_STAYS_IN: Readonly<Record<string, readonly string[]>> = {
  ioredis: ['redis'],
  '@grpc/grpc-js': ['transport', 'cli', 'clients/typescript', 'server', 'startup', 'metrics'],
  'prom-client': ['metrics'],
  '@opentelemetry/api': ['tracing'],
  zod: ['config', 'transport'],
  yaml: ['transport', 'cli'],
  commander: ['cli'],
  pino: ['log', 'server', 'startup', 'main'],
  jose: ['transport'],
};

const ALLOWED_AT_TOP = new Set([
  ...['package.json', 'package-lock.json', 'tsconfig.json', 'buf.yaml'],
  ...['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'LICENSE', 'docs'],
  ...['proto', 'src', 'generated', 'clients', 'tools', 'test', 'bench', 'examples', 'deploy', '.ci'],
  ...['.git', '.gitignore', '.npmrc', '.prettierignore'],
]);
/** Files and folders that programs create at the top; .gitignore lists them. */
const MADE_AT_TOP = /^(node_modules|dist|coverage|\.holdfast|.*\.log)$/;

/** Folders that locks and autocomplete share. A file directly in such a folder imports neither of the two. */
const SHARED_FOLDERS = [
  ...['engine', 'redis', 'redis/connection', 'redis/epochs', 'redis/topology'],
  ...['transport/grpc', 'transport/server'],
];
/** The files of SHARED_FOLDERS that connect locks and autocomplete, and so import the two. */
const COMPOSITION_FILES = [
  ...['redis/index.ts', 'redis/keys.ts'],
  ...['transport/server/grpc-server.ts', 'transport/server/server-handlers.ts'],
];

interface Source {
  /** The path relative to src/, or relative to the root for the SDK. Folders are separated by slashes. */
  readonly path: string;
  readonly room: string;
  readonly tree: ts.SourceFile;
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? filesBelow(path) : [path];
  });
}

/** The path relative to src/ for the server's files, and relative to the root for all other files. */
function shownPath(file: string): string {
  const path = relative(ROOT, file).split(sep).join('/');
  return path.startsWith('src/') ? path.slice('src/'.length) : path;
}

function roomOf(path: string): string {
  const [first = '', second = ''] = path.split('/');
  if (first === 'generated' || first === 'clients') return `${first}/${second}`;
  return first.replace(/\.[cm]?[jt]s$/, '');
}

const sources: readonly Source[] = [SRC, SDK]
  .flatMap(filesBelow)
  .filter((file) => /\.(ts|cts|mts|mjs|cjs|js)$/.test(file))
  .map((file) => {
    const path = shownPath(file);
    const tree = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true);
    return { path, room: roomOf(path), tree };
  });

/** Every import of a file: `import`, `export from`, `require` and `import()`. */
function importsOf({ tree }: Source): string[] {
  return ts.preProcessFile(tree.text, true, true).importedFiles.map(({ fileName }) => fileName);
}

/** The path that a relative import leads to, in the form of `shownPath`. */
function targetOf(source: Source, specifier: string): string {
  return shownPath(join(dirname(source.tree.fileName), specifier));
}

/** The path without its extension, as imports name a file. A folder stands for its index file. */
function moduleName(path: string): string {
  return path.replace(/(\/index)?\.[cm]?[jt]s$/, '').replace(/\.d$/, '');
}

/** Chains of imports that lead back to their first file: `a -> b -> a`. */
function importCircles(): string[] {
  const imports = new Map<string, string[]>();
  for (const source of sources) {
    const targets = importsOf(source).filter((specifier) => specifier.startsWith('.'));
    const known = imports.get(moduleName(source.path)) ?? [];
    imports.set(moduleName(source.path), [
      ...known,
      ...targets.map((specifier) => moduleName(targetOf(source, specifier))),
    ]);
  }
  const circles: string[] = [];
  const finished = new Set<string>();
  const visit = (name: string, chain: readonly string[]): void => {
    if (chain.includes(name)) {
      circles.push([...chain.slice(chain.indexOf(name)), name].join(' -> '));
    } else if (!finished.has(name)) {
      for (const target of imports.get(name) ?? []) visit(target, [...chain, name]);
      finished.add(name);
    }
  };
  for (const name of imports.keys()) visit(name, []);
  return circles;
}

function packageOf(specifier: string): string {
  const parts = specifier.split('/');
  return specifier.startsWith('@') ? parts.slice(0, 2).join('/') : (parts[0] ?? '');
}

/** Every use of a global object: `process.env`, `Date.now`. A use without a property is reported as `process.*`. */
function usesOf(source: Source, global: string): string[] {
  const uses: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node) && node.text === global) {
      const { parent } = node;
      const isObject = ts.isPropertyAccessExpression(parent) && parent.expression === node;
      const isName = ts.isPropertyAccessExpression(parent) && parent.name === node;
      if (isObject) uses.push(`${global}.${parent.name.text}`);
      else if (!isName && !ts.isTypeReferenceNode(parent)) uses.push(`${global}.*`);
    }
    ts.forEachChild(node, visit);
  };
  visit(source.tree);
  return uses;
}

/** The files that use a property of a global object. The room `dev` is left out, because `dev` is a separate program. */
function filesUsing(global: string, pattern: RegExp): string[] {
  return sources
    .filter(({ room }) => room !== 'dev')
    .filter((source) => usesOf(source, global).some((use) => pattern.test(use)))
    .map(({ path }) => path);
}

test('the tests of the architecture find the source files and their imports', () => {
  expect(sources.length).toBeGreaterThan(30);
  expect(sources.flatMap(importsOf).length).toBeGreaterThan(100);
});

test('every room has an import rule', () => {
  const rooms = new Set(sources.map(({ room }) => room));
  expect([...rooms].filter((room) => !(room in MAY_IMPORT))).toEqual([]);
});

test.each(Object.keys(MAY_IMPORT))('the room %s imports only the rooms that its rule allows', (room) => {
  const allowed = [room, ...(MAY_IMPORT[room] ?? [])];
  const forbidden = sources
    .filter((source) => source.room === room)
    .flatMap((source) =>
      importsOf(source)
        .filter(
          (specifier) => specifier.startsWith('.') && !allowed.includes(roomOf(targetOf(source, specifier))),
        )
        .map((specifier) => `${source.path} imports ${specifier}`),
    );
  expect(forbidden).toEqual([]);
});

test('no chain of imports leads back to its first file', () => {
  expect(importCircles()).toEqual([]);
});

test('leases and autocomplete never import each other', () => {
  const productOf = (path: string) =>
    path.split('/').find((part) => part === 'leases' || part === 'autocomplete');
  const crossings = sources.flatMap((source) =>
    importsOf(source)
      .filter((specifier) => specifier.startsWith('.'))
      .map((specifier) => [productOf(source.path), productOf(targetOf(source, specifier)), specifier])
      .filter(([from, to]) => from !== undefined && to !== undefined && from !== to)
      .map(([, , specifier]) => `${source.path} imports ${specifier}`),
  );
  expect(crossings).toEqual([]);
});

/** The imports of files in the folders leases and autocomplete. */
function productImportsOf(source: Source): string[] {
  return importsOf(source)
    .filter((specifier) => specifier.startsWith('.'))
    .filter((specifier) => /\/(leases|autocomplete)\//.test(targetOf(source, specifier)))
    .map((specifier) => `${source.path} imports ${specifier}`);
}

test.each(SHARED_FOLDERS)(
  'files directly in the folder %s import neither leases nor autocomplete, except COMPOSITION_FILES',
  (folder) => {
    const files = sources.filter(({ path }) => dirname(path) === folder);
    const forbidden = files.filter(({ path }) => !COMPOSITION_FILES.includes(path)).flatMap(productImportsOf);
    expect(files).not.toEqual([]);
    expect(forbidden).toEqual([]);
  },
);

test.each(COMPOSITION_FILES)('the composition file %s imports leases or autocomplete', (path) => {
  expect(sources.filter((source) => source.path === path).flatMap(productImportsOf)).not.toEqual([]);
});

test('only the engine declares interfaces named *Engine', () => {
  const rooms = sources.flatMap(({ room, tree }) =>
    tree.statements
      .filter(ts.isInterfaceDeclaration)
      .filter(({ name }) => name.text.endsWith('Engine'))
      .map(() => room),
  );
  expect([...new Set(rooms)]).toEqual(['engine']);
});

test.each(Object.entries(PACKAGE_STAYS_IN))('only these rooms import the package %s: %j', (name, rooms) => {
  const users = sources.filter((source) =>
    importsOf(source).some((specifier) => packageOf(specifier) === name),
  );
  expect(users.length).toBeGreaterThan(0);
  expect(users.filter(({ room }) => !rooms.includes(room)).map(({ path }) => path)).toEqual([]);
});

test('only config.ts and the commands of the program holdfast read environment variables, from main.ts', () => {
  // main.ts passes `process.env` to config.ts, and cli/main.ts to the commands. Both read no variable themselves.
  // The client of TypeScript asks for the proxy of gRPC, whose variables @grpc/grpc-js reads too.
  const users = ['cli/main.ts', 'config/config.ts', 'main.ts', 'clients/typescript/connection/servers.ts'];
  expect(filesUsing('process', /^process\.(env|\*)$/)).toEqual(users);
});

test('only programs end the process, and only process-session.ts sends signals', () => {
  const programs = [
    'cli/main.ts',
    'cli/run/launcher.ts',
    'cli/run/process-session.ts',
    'cli/run/watchdog.ts',
    'main.ts',
    'clients/typescript/conformance/driver.ts',
  ];
  expect(filesUsing('process', /^process\.(exit|abort|kill|reallyExit)$/)).toEqual(programs);
});

test('only call-channel.ts, served-call.ts and two files named time-of-day.ts use the time of day', () => {
  // grpc-js gives a deadline as a time of day, and credentials end at a time of day. Both are converted to durations.
  expect(filesUsing('Date', /./)).toEqual([
    'cli/time-of-day.ts',
    'transport/access/time-of-day.ts',
    'transport/grpc/served-call.ts',
    'clients/typescript/calls/call-channel.ts',
  ]);
});

test('in the engine, only identities.ts and clock.ts use random numbers, time and timers', () => {
  const engine = sources.filter(({ room }) => room === 'engine');
  const uses = (global: string): string[] =>
    engine.filter((source) => usesOf(source, global).length > 0).map(({ path }) => path);
  expect(
    uses('Math').filter((path) =>
      usesOf(
        engine.find((source) => source.path === path)!,
        'Math',
      ).includes('Math.random'),
    ),
  ).toEqual(['engine/identities.ts']);
  expect(uses('performance')).toEqual(['engine/clock.ts']);
  expect(uses('setTimeout')).toEqual(['engine/clock.ts']);
  expect(uses('setInterval')).toEqual([]);
});

test('the top folder has only the files and folders of ALLOWED_AT_TOP and MADE_AT_TOP', () => {
  const unexpected = readdirSync(ROOT).filter((name) => !ALLOWED_AT_TOP.has(name) && !MADE_AT_TOP.test(name));
  expect(unexpected).toEqual([]);
});
