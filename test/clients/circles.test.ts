import { readFileSync, readdirSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { ROOT } from '../support/root';

/**
 * Files that import each other can only be understood together. The imports are read as text, so this test needs none
 * of the toolchains. A type counts as an import too, also where Python reads it under TYPE_CHECKING. An import of a name
 * that a module only passes on, such as `pub use` of Rust, leads to the file that declares the name.
 */

/** The texts of files, by their paths. */
type Files = ReadonlyMap<string, string>;
/** For each file, the files that it imports. */
type Imports = ReadonlyMap<string, readonly string[]>;

const importsOfTypeScript = (files: Files): Imports =>
  new Map([...files].map(([path, text]) => [path, typeScriptImports(path, text, files)]));

function typeScriptImports(path: string, text: string, files: Files): string[] {
  const specifiers = [...text.matchAll(/(?:\bfrom|\bimport|\brequire)\s*\(?\s*'(\.[^']*)'/g)];
  return specifiers
    .map(([, specifier]) => join(dirname(path), specifier as string))
    .flatMap((target) => [`${target}.ts`, join(target, 'index.ts')])
    .filter((target) => files.has(target));
}

/** The file of a dotted name, looked for in a folder. */
function pythonModule(folder: string, names: readonly string[], files: Files): string | undefined {
  const path = join(folder, ...names);
  return [`${path}.py`, join(path, '__init__.py')].find((file) => files.has(file));
}

const importsOfPython = (files: Files): Imports =>
  new Map([...files].map(([path, text]) => [path, pythonImports(path, text, files)]));

function pythonImports(path: string, text: string, files: Files): string[] {
  const own = dirname(path);
  const packages = [...files.keys()].filter((file) => /(?:^|\/)src\/\w+\/__init__\.py$/.test(file));
  const roots = [own, ...packages.map((file) => dirname(dirname(file)))];
  const found: (string | undefined)[] = [];
  const from = /^[ \t]*from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)/gm;
  for (const [, dots = '', module = '', list = ''] of text.matchAll(from)) {
    const names = list.replace(/#.*/g, '').match(/\w+(?:\s+as\s+\w+)?/g) ?? [];
    const parts = module.split('.').filter(Boolean);
    const bases = dots === '' ? roots : [join(own, ...dots.slice(1).split('').fill('..'))];
    for (const base of bases) {
      for (const name of names.map((text) => text.replace(/\s.*/s, ''))) {
        found.push(pythonModule(base, [...parts, name], files) ?? pythonModule(base, parts, files));
      }
    }
  }
  for (const [, list = ''] of text.matchAll(/^[ \t]*import[ \t]+([\w., \t]+)/gm)) {
    const modules = list.split(',').map((name) => name.trim().replace(/\s.*/, '').split('.'));
    for (const root of roots) found.push(...modules.map((names) => pythonModule(root, names, files)));
  }
  return found.filter((target) => target !== undefined);
}

/** The paths of a `use` with its braces opened: `a::{b, c::d}` is `a::b` and `a::c::d`. */
function usePaths(tree: string): string[] {
  const text = tree.replace(/\s+as\s+\w+/g, '').replace(/\s/g, '');
  const open = text.indexOf('{');
  if (open < 0) return [text];
  const items: string[] = [];
  let depth = 0;
  let start = open + 1;
  for (let at = open; at < text.length; at += 1) {
    if (text[at] === '{') depth += 1;
    if (text[at] === '}') depth -= 1;
    if ((text[at] === ',' && depth === 1) || (text[at] === '}' && depth === 0)) {
      items.push(text.slice(start, at));
      start = at + 1;
    }
  }
  return items.filter(Boolean).flatMap((item) => usePaths(item).map((path) => text.slice(0, open) + path));
}

/** One file of a crate. */
interface RustModule {
  readonly children: ReadonlySet<string>;
  /** The paths of all `use` of the file, which others reach by this module too. */
  readonly names: readonly string[];
  /** The paths that the file itself uses. A `pub use` alone only passes names on. */
  readonly uses: readonly string[];
}

const RUST_USE = /^[ \t]*(pub(?:\([^)]*\))? )?use ([^;]+);/gm;
const RUST_PATH = /\b(?:\w+::)+\w+/g;

function rustModule(text: string): RustModule {
  const code = text.replace(/\/\/.*/g, '').replace(/"(?:[^"\\]|\\.)*"/gs, '""');
  // In a module inside of the file, `super` is the file itself.
  const inner = code.search(/^mod \w+ \{/m);
  const outside = inner < 0 ? code : code.slice(0, inner);
  const inside = inner < 0 ? '' : code.slice(inner).replaceAll('super::super::', 'up::up::');
  const pathsIn = (part: string): string[] => [
    ...[...part.matchAll(RUST_USE)].flatMap(([, , tree]) => usePaths(tree!)),
    ...[...part.replace(RUST_USE, '').matchAll(RUST_PATH)].map(([path]) => path),
  ];
  const passedOn = [...outside.matchAll(RUST_USE)].filter(([, isPublic]) => isPublic);
  const passedNames = passedOn.flatMap(([, , tree]) => usePaths(tree!));
  const words = new Set(
    code
      .replace(RUST_USE, '')
      .replace(/\bmod \w+;/g, '')
      .match(/\w+/g),
  );
  return {
    children: new Set(
      [...code.matchAll(/^[ \t]*(?:pub(?:\([^)]*\))? )?mod (\w+);/gm)].map(([, name]) => name!),
    ),
    names: [...outside.matchAll(RUST_USE)].flatMap(([, , tree]) => usePaths(tree!)),
    uses: [
      ...pathsIn(outside).filter((path) => !passedNames.includes(path) || words.has(lastOf(path))),
      ...pathsIn(inside)
        .filter((path) => /^(crate|up)::/.test(path))
        .map((path) => path.replace('up::up::', 'super::')),
    ],
  };
}

const lastOf = (path: string): string => path.split('::').at(-1)!;

/** The name of a module in its crate: `session::stream`. The root has the empty name. */
function rustName(path: string): string {
  const parts = path
    .replace(/^.*?\bsrc\//, '')
    .replace(/\.rs$/, '')
    .split('/');
  return parts.filter((part) => !['mod', 'lib', 'main'].includes(part)).join('::');
}

/** The module that declares what a path in the module `here` names. Undefined: another crate, or the standard library. */
function rustTarget(
  modules: ReadonlyMap<string, RustModule>,
  here: string,
  used: string,
  seen: readonly string[] = [],
): string | undefined {
  const segments = used.split('::');
  let at = segments[0] === 'crate' ? '' : here;
  if (segments[0] === 'crate' || segments[0] === 'self') segments.shift();
  else if (segments[0] !== 'super' && !modules.get(here)!.children.has(segments[0]!)) return undefined;
  for (; segments[0] === 'super'; segments.shift()) at = at.split('::').slice(0, -1).join('::');
  while (modules.get(at)!.children.has(segments[0]!)) at = [at, segments.shift()!].filter(Boolean).join('::');
  const step = `${at} ${segments[0]}`;
  const passedOn = modules.get(at)!.names.find((name) => lastOf(name) === segments[0]);
  if (passedOn === undefined || seen.includes(step)) return at;
  return rustTarget(modules, at, passedOn, [...seen, step]) ?? at;
}

function importsOfRust(files: Files): Imports {
  const imports = new Map<string, string[]>();
  const crates = new Set([...files.keys()].map((path) => path.replace(/\bsrc\/.*$/, 'src/')));
  for (const crate of crates) {
    const own = [...files.keys()].filter((path) => path.startsWith(crate));
    const paths = new Map(own.map((path) => [rustName(path), path]));
    const modules = new Map([...paths].map(([name, path]) => [name, rustModule(files.get(path)!)]));
    for (const [name, path] of paths) {
      const targets = modules.get(name)!.uses.map((used) => rustTarget(modules, name, used));
      imports.set(
        path,
        targets.filter((target) => target !== undefined).map((target) => paths.get(target)!),
      );
    }
  }
  return imports;
}

/** Chains of imports that lead back to their first file, as `a -> b -> a`. */
function circlesOf(imports: Imports): string[] {
  const circles: string[] = [];
  const finished = new Set<string>();
  const visit = (path: string, chain: readonly string[]): void => {
    if (chain.includes(path)) circles.push([...chain.slice(chain.indexOf(path)), path].join(' -> '));
    else if (!finished.has(path)) {
      for (const target of imports.get(path)!) if (target !== path) visit(target, [...chain, path]);
      finished.add(path);
    }
  };
  for (const path of imports.keys()) visit(path, []);
  return circles;
}

/** Folders that builds and installations create. */
const MADE = new Set(['target', 'node_modules', '__pycache__', '.venv', 'dist', 'build']);

function filesOf(folder: string, ending: string): Files {
  const below = (path: string): string[] =>
    readdirSync(path).flatMap((name) => {
      const one = join(path, name);
      if (MADE.has(name)) return [];
      return statSync(one).isDirectory() ? below(one) : [one];
    });
  const found = below(join(ROOT, 'clients', folder)).filter((path) => path.endsWith(ending));
  return new Map(
    found.map((path) => [relative(join(ROOT, 'clients', folder), path), readFileSync(path, 'utf8')]),
  );
}

interface Language {
  readonly ending: string;
  readonly importsOf: (files: Files) => Imports;
  /** Imports of the files in this repository that must be found: FROM -> TO, one way of an import each. */
  readonly known: readonly string[];
  /** Files of a circle, which is found only if each way of an import is read. */
  readonly circle: Readonly<Record<string, string>>;
}

const TYPESCRIPT = { ending: '.ts', importsOf: importsOfTypeScript };
const LANGUAGES: Readonly<Record<string, Language>> = {
  typescript: {
    ...TYPESCRIPT,
    known: ['holdfast.ts -> sessions/session-client.ts', 'index.ts -> holdfast.ts'],
    circle: {
      'a.ts': "import {\n  type B,\n} from './b';",
      'b.ts': "export * from './c/d';",
      'c/d.ts': "type A = import('../a').A;",
    },
  },
  conformance: {
    ...TYPESCRIPT,
    known: ['run.ts -> kit/languages.ts', 'server/store.ts -> server/resource.ts'],
    circle: { 'a.ts': "import './b';", 'b.ts': "import type { A } from './a';" },
  },
  python: {
    ending: '.py',
    importsOf: importsOfPython,
    known: [
      'src/holdfast/_core/session_client.py -> src/holdfast/_core/open_session.py',
      'src/holdfast/_sync/client.py -> src/holdfast/_options.py',
      'src/holdfast/_core/acquire_intent.py -> src/holdfast/_core/numbers.py',
      'conformance/driver.py -> conformance/commands.py',
      'conformance/bench.py -> src/holdfast/aio/__init__.py',
    ],
    circle: {
      'src/a/__init__.py': 'from .b import (\n    One,  # the first\n    Two,\n)',
      'src/a/b.py': 'if TYPE_CHECKING:\n    from . import c as other',
      'src/a/c.py': 'def late():\n    from .d.e import Five',
      'src/a/d/e.py': 'from .. import f',
      'src/a/f.py': 'import a',
    },
  },
  rust: {
    ending: '.rs',
    importsOf: importsOfRust,
    known: [
      'src/lease.rs -> src/session/client.rs',
      'src/acquire.rs -> src/run.rs',
      'src/calls/watch.rs -> src/calls/mod.rs',
      'src/connection/mod.rs -> src/connection/servers.rs',
      'src/client.rs -> src/session/engine.rs',
      'conformance/src/main.rs -> conformance/src/clients.rs',
    ],
    circle: {
      'src/lib.rs': 'mod a;\nmod b;\nmod c;\npub use a::A;\npub(crate) use c::C;',
      'src/a.rs': 'use std::sync::Arc;\nuse crate::{b::{self, B as Other}, Arc};',
      'src/b/mod.rs': 'mod d;\npub(crate) use d::{\n    D,\n};\nfn b() -> D { D }',
      'src/b/d.rs': 'struct D;\n#[cfg(test)]\nmod tests {\n    use super::*;\n    use crate::C;\n}',
      'src/c.rs': 'fn c() { crate::A::new(); }',
    },
  },
};

describe.each(Object.entries(LANGUAGES))('%s', (folder, { ending, importsOf, known, circle }) => {
  const imports = importsOf(filesOf(folder, ending));

  test('the imports of the files are found', () => {
    const found = [...imports].flatMap(([from, targets]) => targets.map((to) => `${from} -> ${to}`));
    expect(found).toEqual(expect.arrayContaining(known));
  });

  test('a circle is found, and no longer where one of its files imports nothing', () => {
    const files = new Map(Object.entries(circle));
    const own = Object.keys(circle).filter((path) => path !== 'src/lib.rs');
    expect(circlesOf(importsOf(files))).toEqual([expect.stringMatching(/^(.*) -> .* -> \1$/)]);
    for (const path of own) {
      expect(
        circlesOf(importsOf(new Map([...files, [path, files.get(path)!.replace(/\S.*/s, '')]]))),
      ).toEqual([]);
    }
  });

  test(`no imports of clients/${folder} lead back to their first file`, () => {
    expect(circlesOf(imports)).toEqual([]);
  });
});
