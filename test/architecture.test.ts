import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import ts from 'typescript';

/** Rules that the compiler does not check: the imports between folders, and the uses of some global objects. */

const ROOT = [join(__dirname, '..'), join(__dirname, '..', '..')].find((folder) =>
  existsSync(join(folder, 'package-lock.json')),
)!;
const SRC = join(ROOT, 'src');
const SDK = join(ROOT, 'clients', 'typescript');

/**
 * The floors of the house, the lowest first. A room imports rooms of lower floors only. A room is a folder of src/, or a
 * file directly in src/. Rooms of one floor do not know each other.
 */
const FLOORS: readonly (readonly string[])[] = [
  ['base'],
  ['flow'],
  ['redis', 'access'],
  ['rpc'],
  ['leases', 'autocomplete'],
  ['server'],
  ['main'],
  ['dev'],
  ['cli'],
];
const PRODUCTS = ['leases', 'autocomplete'];

/** What the folders of a product may import besides `base`, `flow` and the product's own engine. */
const IN_A_PRODUCT: Readonly<Record<string, readonly string[]>> = {
  engine: [],
  service: ['rpc', 'access', 'generated/typescript'],
  redis: ['redis', 'generated/redis'],
};

/** Who may import what is not in src/. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  'clients/typescript': ['cli'],
  'generated/typescript': [
    ...['access', 'rpc', 'leases/service', 'autocomplete/service', 'server', 'cli'],
    'clients/typescript',
  ],
  'generated/redis': ['redis', 'leases/redis', 'autocomplete/redis'],
};

/** What `cli` uses of the house: it is a client of the contract, except for the commands that start or check a server. */
const CLI_MAY_IMPORT = ['base', 'access', 'rpc', 'server', 'main', 'dev'];

/** For each package, the rooms that may import the package. */
const PACKAGE_STAYS_IN: Readonly<Record<string, readonly string[]>> = {
  ioredis: ['redis'],
  '@grpc/grpc-js': [
    ...['base', 'access', 'rpc', 'leases/service', 'autocomplete/service', 'server', 'cli'],
    'clients/typescript',
  ],
  'prom-client': ['server'],
  '@opentelemetry/api': ['server'],
  zod: ['access', 'server'],
  yaml: ['access', 'cli'],
  commander: ['cli'],
  pino: ['server', 'main'],
  jose: ['access'],
};

/** Files of fewer than 60 or more than 330 lines, with the reason. */
const NO_PAGE: Readonly<Record<string, string>> = {
  'access/policy-thread-main': 'the entry of a worker thread',
  'access/time-of-day': 'the only place of the room that may use the time of day',
  'autocomplete/autocomplete': 'the engine of autocomplete, method by method',
  'autocomplete/loaded/builds': 'one class, whose states are told together',
  'autocomplete/loaded/copy': 'one class, whose states are told together',
  'autocomplete/loaded/load': 'one class, whose states are told together',
  'autocomplete/loaded/loaded-dictionary': 'one class, whose states are told together',
  'autocomplete/loaded/thread-main': 'the entry of a worker thread',
  'autocomplete/redis/autocomplete-stores': 'opens the stores of autocomplete, whichever Redis they are in',
  'autocomplete/service/large-requests-main': 'the entry of a worker thread',
  'base/accounts': 'accounts and their quotas, which always change together',
  'base/call': 'what every engine knows of a call, and nothing of one product',
  'base/clock': 'the only place of the engines that may use time',
  'base/runtime': 'the only place of the engines that may use chance',
  'cli/client': 'what every command needs to reach a server',
  'cli/commands/top': 'a command and its two views',
  'cli/completion/completion': 'a command',
  'cli/leases/kinds': 'locks and semaphores as the commands see them',
  'leases/attempt': 'one class, whose states are told together',
  'leases/held-lease': 'one class, whose states are told together',
  'leases/lease-errors': 'the texts of all errors of leases',
  'leases/lease-meters': 'imported by the engine, and by the metrics of the server',
  'leases/lease-store': 'the port, method by method',
  'leases/leases': 'the engine of leases, method by method',
  'leases/redis/redis-lease-store': 'the store, method by method',
  'redis/runner': 'one class, whose states are told together',
  'redis/topology/cluster': 'one class, whose states are told together',
  'server/config/variables': 'the settings of others that the server reads',
};

const ALLOWED_AT_TOP = new Set([
  ...['package.json', 'package-lock.json', 'tsconfig.json', 'buf.yaml'],
  ...['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'LICENSE', 'docs'],
  ...['proto', 'src', 'generated', 'clients', 'tools', 'test', 'bench', 'examples', 'deploy', '.ci'],
  ...['.git', '.gitignore', '.npmrc', '.prettierignore'],
]);
/** Files and folders that programs create at the top; .gitignore lists them. */
const MADE_AT_TOP = /^(node_modules|dist|coverage|\.holdfast|.*\.log)$/;

interface Source {
  /** The path relative to src/, or relative to the root for the SDK. Folders are separated by slashes. */
  readonly path: string;
  readonly room: string;
  readonly file: string;
  readonly text: string;
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

/** A folder of src/, a file directly in src/, `leases/service` and the like, or `clients/typescript`, `generated/redis`. */
function roomOf(path: string): string {
  const [first = '', second = ''] = path.split('/');
  if (first === 'generated' || first === 'clients') return `${first}/${second}`;
  if (PRODUCTS.includes(first) && ['service', 'redis'].includes(second)) return `${first}/${second}`;
  return first.replace(/\.[cm]?[jt]s$/, '');
}

const floorOf = (room: string): number =>
  FLOORS.findIndex((rooms) => rooms.includes(room.split('/')[0] as string));

const sources: readonly Source[] = [SRC, SDK]
  .flatMap(filesBelow)
  .filter((file) => /\.(ts|cts|mts|mjs|cjs|js)$/.test(file))
  .map((file) => {
    const path = shownPath(file);
    return { path, room: roomOf(path), file, text: readFileSync(file, 'utf8') };
  });

/** Computes a value of each file once. */
function kept<Value>(compute: (source: Source) => Value): (source: Source) => Value {
  const values = new Map<Source, Value>();
  return (source) => {
    if (!values.has(source)) values.set(source, compute(source));
    return values.get(source) as Value;
  };
}

const treeOf = kept(({ file, text }) => ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true));

/** Every import of a file: `import`, `export from`, `require` and `import()`. */
const importsOf = kept(({ text }) =>
  ts.preProcessFile(text, true, true).importedFiles.map(({ fileName }) => fileName),
);

/** The path that a relative import leads to, in the form of `shownPath`. */
function targetOf(source: Source, specifier: string): string {
  return shownPath(join(dirname(source.file), specifier));
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
  // Most files do not have the name, and a tree takes some milliseconds.
  if (!new RegExp(`\\b${global}\\b`).test(source.text)) return [];
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
  visit(treeOf(source));
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

/** The imports of files in src/ and the SDK from other rooms, as `FILE -> FILE`. */
const crossings = sources.flatMap((source) =>
  importsOf(source)
    .filter((specifier) => specifier.startsWith('.'))
    .map((specifier) => moduleName(targetOf(source, specifier)))
    .map((target) => ({
      from: source.room,
      to: roomOf(target),
      text: `${moduleName(source.path)} -> ${target}`,
    }))
    .filter(({ from, to }) => from !== to),
);
const texts = (found: typeof crossings): string[] => [...new Set(found.map(({ text }) => text))].sort();

test('every folder of src/ has a floor', () => {
  const rooms = new Set(sources.map(({ room }) => room).filter((room) => !room.startsWith('clients/')));
  expect([...rooms].filter((room) => floorOf(room) < 0)).toEqual([]);
});

test('imports lead down', () => {
  const inside = (room: string) => floorOf(room) >= 0;
  const up = crossings
    .filter(({ from, to }) => inside(from) && inside(to) && from.split('/')[0] !== to.split('/')[0])
    .filter(({ from, to }) => floorOf(to) >= floorOf(from));
  expect(texts(up)).toEqual([]);
});

test('in a product, the engine knows neither the service nor Redis, and these two do not know each other', () => {
  const forbidden = crossings.filter(({ from, to }) => {
    const [product = '', part = 'engine'] = from.split('/');
    if (!PRODUCTS.includes(product)) return false;
    return !['base', 'flow', product, ...(IN_A_PRODUCT[part] as string[])].includes(to);
  });
  expect(texts(forbidden)).toEqual([]);
});

test.each(Object.entries(MAY_IMPORT))('only these rooms import %s: %j', (to, rooms) => {
  const users = crossings.filter((crossing) => crossing.to === to);
  expect(users).not.toEqual([]);
  expect(texts(users.filter(({ from }) => !rooms.includes(from)))).toEqual([]);
});

test('the server imports nothing of tests, tools, benchmarks and examples, because its package has none of them', () => {
  const isPacked = (room: string) => floorOf(room) >= 0 || room in MAY_IMPORT;
  expect(texts(crossings.filter(({ to }) => !isPacked(to)))).toEqual([]);
});

test('the SDK imports nothing of the server', () => {
  const forbidden = crossings.filter(
    ({ from, to }) => from === 'clients/typescript' && to !== 'generated/typescript',
  );
  expect(texts(forbidden)).toEqual([]);
});

test('the program holdfast imports neither a product nor Redis', () => {
  const allowed = [...CLI_MAY_IMPORT, 'clients/typescript', 'generated/typescript'];
  const forbidden = crossings.filter(({ from, to }) => from === 'cli' && !allowed.includes(to));
  expect(texts(forbidden)).toEqual([]);
});

test('a file is a page of 60 to 330 lines, except for those in NO_PAGE', () => {
  const lines = new Map(
    sources
      .filter(({ path }) => !path.startsWith('clients/') && path.endsWith('.ts'))
      .map(({ path, text }) => [moduleName(path), text.split('\n').length - 1]),
  );
  const others = [...lines].filter(([, count]) => count < 60 || count > 330).map(([path]) => path);
  expect(others.sort()).toEqual(Object.keys(NO_PAGE).sort());
});

test('the names of the files in src/ are unique, because editors and stack traces show them without the folder', () => {
  const names = sources
    .filter(({ path }) => !path.startsWith('clients/') && path !== 'cli/main.ts')
    .map(({ path }) => path.replace(/^.*\//, '').replace(/\.d\.cts$/, '.cjs'));
  const twice = names.filter((name, index) => names.indexOf(name) !== index);
  expect(twice.filter((name) => !name.startsWith('pid-lock'))).toEqual([]);
});

test('no chain of imports leads back to its first file', () => {
  expect(importCircles()).toEqual([]);
});

test('only products declare interfaces named *Engine', () => {
  const rooms = sources
    .filter(({ text }) => text.includes('Engine'))
    .flatMap((source) =>
      treeOf(source)
        .statements.filter(ts.isInterfaceDeclaration)
        .filter(({ name }) => name.text.endsWith('Engine'))
        .map(() => source.room),
    );
  expect([...new Set(rooms)].sort()).toEqual([...PRODUCTS].sort());
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
  // The SDK reads the proxy variables of gRPC, because a proxy looks names up itself.
  const users = [
    'cli/main.ts',
    'main.ts',
    'server/config/config.ts',
    'clients/typescript/connection/servers.ts',
  ];
  expect(filesUsing('process', /^process\.(env|\*)$/)).toEqual(users);
});

test('only programs end the process, and only processes.ts sends signals', () => {
  const programs = [
    'cli/main.ts',
    'cli/run/launcher.ts',
    'cli/run/processes.ts',
    'cli/run/watchdog.ts',
    'main.ts',
    'clients/typescript/conformance/driver.ts',
  ];
  expect(filesUsing('process', /^process\.(exit|abort|kill|reallyExit)$/)).toEqual(programs);
});

test('only call-channel.ts, served-call.ts, terminal.ts and time-of-day.ts use the time of day', () => {
  // grpc-js gives a deadline as a time of day, and credentials end at a time of day. Both are converted to durations.
  expect(filesUsing('Date', /./)).toEqual([
    'access/time-of-day.ts',
    'cli/terminal.ts',
    'rpc/served-call.ts',
    'clients/typescript/calls/call-channel.ts',
  ]);
});

test('in the engines, base and flow, only runtime.ts and clock.ts use Math.random, time and timers', () => {
  const engine = sources.filter(({ room }) => ['base', 'flow', ...PRODUCTS].includes(room));
  const uses = (global: string): string[] =>
    engine.filter((source) => usesOf(source, global).length > 0).map(({ path }) => path);
  expect(
    uses('Math').filter((path) =>
      usesOf(
        engine.find((source) => source.path === path)!,
        'Math',
      ).includes('Math.random'),
    ),
  ).toEqual(['base/runtime.ts']);
  expect(uses('performance')).toEqual(['base/clock.ts']);
  expect(uses('setTimeout')).toEqual(['base/clock.ts']);
  expect(uses('setInterval')).toEqual([]);
});

test('no file outside flow/turns loops over turns of the event loop', () => {
  // Each of these does one thing in a later turn, except for the gate, which paces the whole server.
  const single = [
    'access/client-certificates.ts',
    'leases/service/session-conversation.ts',
    'redis/deadlines.ts',
    'redis/writer.ts',
    'rpc/entry/connections.ts',
    'rpc/entry/gate.ts',
    'rpc/entry/intake.ts',
    'server/admin-connections.ts',
  ];
  const server = sources.filter(({ room }) => floorOf(room) >= 0 && !['dev', 'cli'].includes(room));
  const users = server.filter((source) => usesOf(source, 'setImmediate').length > 0);
  expect(users.map(({ path }) => path).sort()).toEqual([...single, 'flow/turns.ts'].sort());
});

test('the top folder has only the files and folders of ALLOWED_AT_TOP and MADE_AT_TOP', () => {
  const unexpected = readdirSync(ROOT).filter((name) => !ALLOWED_AT_TOP.has(name) && !MADE_AT_TOP.test(name));
  expect(unexpected).toEqual([]);
});
