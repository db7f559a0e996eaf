import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { ROOT } from '../support/root';

const FOLDER = join(ROOT, 'src', 'redis', 'scripts');

interface LuaFile {
  readonly includes: readonly string[];
  /** The names that the file declares outside of functions, and its fields of records. */
  readonly declares: ReadonlySet<string>;
  /** All names that the file declares, including parameters. */
  readonly owns: ReadonlySet<string>;
  readonly uses: ReadonlySet<string>;
}

const words = (text: string): string[] => text.match(/[A-Za-z_]\w*/g) ?? [];

function readLua(path: string): LuaFile {
  const text = readFileSync(path, 'utf8');
  const code = text.replace(/--.*$/gm, '').replace(/'(?:[^'\\\n]|\\.)*'/g, "''");
  const names = (pattern: RegExp) =>
    new Set([...code.matchAll(pattern)].flatMap(([, list = '']) => words(list)));
  return {
    includes: [...text.matchAll(/^-- @include (\S+)$/gm)].map(([, file = '']) => join(dirname(path), file)),
    declares: new Set([
      ...names(/^local (?:function )?([\w, ]+)/gm),
      ...[...text.matchAll(/^-- @field \w (\w+)/gm)].map(([, field = '']) => field),
    ]),
    owns: new Set([
      ...names(/\b(?:local|local function|for) ([\w, ]+)/g),
      ...names(/\bfunction(?: [\w.]+)?\(([\w, ]+)/g),
    ]),
    uses: new Set(words(code.replace(/(?<!\brequest)\.[A-Za-z_]\w*/g, ''))),
  };
}

const paths = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter((path) =>
  path.endsWith('.lua'),
);
const files = new Map(paths.map((path) => [join(FOLDER, path), readLua(join(FOLDER, path))]));
const fileOf = (path: string): LuaFile => {
  const file = files.get(path);
  if (!file) throw new Error(`there is no file ${relative(FOLDER, path)}`);
  return file;
};

/** The names that the directly and indirectly included files declare. */
function available(path: string): Set<string> {
  return new Set(fileOf(path).includes.flatMap((one) => [...fileOf(one).declares, ...available(one)]));
}

describe.each(paths)('%s', (name) => {
  const path = join(FOLDER, name);
  const { includes, owns, uses } = fileOf(path);

  it('includes every shared name that it uses', () => {
    const room = name.split('/')[0] as string;
    const shared = paths
      .filter((one) => one.startsWith(`${room}/shared/`) && one !== name)
      .flatMap((one) => [...fileOf(join(FOLDER, one)).declares]);
    const included = available(path);
    expect(
      [...new Set(shared)].filter((one) => uses.has(one) && !owns.has(one) && !included.has(one)),
    ).toEqual([]);
  });

  it('uses every file that it includes', () => {
    const unused = includes.filter((one) => ![...fileOf(one).declares].some((word) => uses.has(word)));
    expect(unused.map((one) => relative(FOLDER, one))).toEqual([]);
  });
});
