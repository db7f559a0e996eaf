import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import ts from 'typescript';

/** The house rules that a compiler does not know: who may call whom, and where a few dangerous words may stand. */

const ROOT = [join(__dirname, '..'), join(__dirname, '..', '..')].find((folder) =>
  existsSync(join(folder, 'package-lock.json')),
)!;
const SRC = join(ROOT, 'src');
const SDK = join(ROOT, 'clients', 'typescript');

/** What each room may import of this repository. A room is a folder of src/, a file beside the folders, or the SDK. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  engine: [],
  redis: ['engine', 'generated/redis'],
  wire: ['generated/typescript'],
  transport: ['engine', 'wire', 'generated/typescript'],
  config: [],
  log: ['config'],
  version: [],
  server: ['config', 'transport', 'engine', 'redis', 'version'],
  main: ['config', 'log', 'server'],
  dev: ['main'],
  'clients/typescript': ['wire', 'generated/typescript'],
};

/** Packages that stop at a wall. */
const PACKAGE_STAYS_IN: Readonly<Record<string, readonly string[]>> = {
  ioredis: ['redis'],
  '@grpc/grpc-js': ['transport', 'clients/typescript', 'server'],
  zod: ['config'],
  pino: ['log', 'server', 'main'],
};

const ALLOWED_AT_TOP = new Set([
  ...['package.json', 'package-lock.json', 'tsconfig.json', 'buf.yaml'],
  ...['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'LICENSE', 'docs'],
  ...['proto', 'src', 'generated', 'clients', 'tools', 'test', 'bench', 'examples', 'deploy', '.ci'],
  ...['.git', '.gitignore', '.npmrc', '.prettierignore'],
]);
/** What programs make there, and .gitignore names. */
const MADE_AT_TOP = /^(node_modules|dist|coverage|\.holdfast|.*\.log)$/;

interface Source {
  /** From src/, or from the root for the SDK; with slashes. */
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

/** The path as tests name it: from src/ for the server's files, from the root for all others. */
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

/** Everything that a file imports, in any of the ways there are. */
function importsOf({ tree }: Source): string[] {
  return ts.preProcessFile(tree.text, true, true).importedFiles.map(({ fileName }) => fileName);
}

/** The path, as tests name it, that a relative import leads to. */
function targetOf(source: Source, specifier: string): string {
  return shownPath(join(dirname(source.tree.fileName), specifier));
}

function packageOf(specifier: string): string {
  const parts = specifier.split('/');
  return specifier.startsWith('@') ? parts.slice(0, 2).join('/') : (parts[0] ?? '');
}

/** Every use of a global's property: `process.env`, `Date.now`; the global by itself is `process.*`. */
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

/** Of the product; what only builds it or starts its Redis is a program of its own. */
function filesUsing(global: string, pattern: RegExp): string[] {
  return sources
    .filter(({ room }) => room !== 'dev')
    .filter((source) => usesOf(source, global).some((use) => pattern.test(use)))
    .map(({ path }) => path);
}

test('there is something to look at', () => {
  expect(sources.length).toBeGreaterThan(30);
  expect(sources.flatMap(importsOf).length).toBeGreaterThan(100);
});

test('every room is known', () => {
  const rooms = new Set(sources.map(({ room }) => room));
  expect([...rooms].filter((room) => !(room in MAY_IMPORT))).toEqual([]);
});

test.each(Object.keys(MAY_IMPORT))('%s imports only what it may', (room) => {
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

test.each(Object.entries(PACKAGE_STAYS_IN))('%s stays in %j', (name, rooms) => {
  const users = sources.filter((source) =>
    importsOf(source).some((specifier) => packageOf(specifier) === name),
  );
  expect(users.length).toBeGreaterThan(0);
  expect(users.filter(({ room }) => !rooms.includes(room)).map(({ path }) => path)).toEqual([]);
});

test('only config.ts reads the environment', () => {
  // main.ts hands it over, unread.
  expect(filesUsing('process', /^process\.(env|\*)$/)).toEqual(['config/config.ts', 'main.ts']);
});

test('only main.ts ends the process', () => {
  expect(filesUsing('process', /^process\.(exit|abort|kill|reallyExit)$/)).toEqual(['main.ts']);
});

test('the time of day decides nothing', () => {
  // grpc-js tells a deadline as a time of day; the wrapper turns it into a span at once.
  expect(filesUsing('Date', /./)).toEqual(['transport/grpc/call.ts']);
});

test('the engine asks for chance, ids and time only where tests can answer', () => {
  const engine = sources.filter(({ room }) => room === 'engine');
  const uses = (global: string): string[] =>
    engine.filter((source) => usesOf(source, global).length > 0).map(({ path }) => path);
  expect(
    uses('Math').filter((path) =>
      usesOf(
        engine.find((one) => one.path === path)!,
        'Math',
      ).includes('Math.random'),
    ),
  ).toEqual(['engine/identities.ts']);
  expect(uses('performance')).toEqual(['engine/clock.ts']);
  expect(uses('setTimeout')).toEqual(['engine/clock.ts']);
  expect(uses('setInterval')).toEqual([]);
});

test('at the top there is nothing beside what belongs there', () => {
  const strangers = readdirSync(ROOT).filter((name) => !ALLOWED_AT_TOP.has(name) && !MADE_AT_TOP.test(name));
  expect(strangers).toEqual([]);
});
