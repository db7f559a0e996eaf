import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import * as scripts from '../../generated/redis/scripts';
import { embeddedAfter } from '../support/embedded-scripts';
import { ROOT } from '../support/root';

const FOLDER = join(ROOT, 'src');

interface LuaFile {
  readonly includes: readonly string[];
  /** The names that the file declares outside of functions, and its fields of records. */
  readonly declares: ReadonlySet<string>;
  /** All names that the file declares, including parameters. */
  readonly owns: ReadonlySet<string>;
  readonly uses: ReadonlySet<string>;
  /** The fields that `-- @field` lines declare. */
  readonly fields: readonly string[];
  /** The functions after `-- @rare` lines. The value is undefined if no function of several lines follows. */
  readonly rare: readonly (string | undefined)[];
  /** The text without comments. */
  readonly code: string;
}

const words = (text: string): string[] => text.match(/[A-Za-z_]\w*/g) ?? [];

function readLua(path: string): LuaFile {
  const text = readFileSync(path, 'utf8');
  const uncommented = text.replace(/--.*$/gm, '');
  const code = uncommented.replace(/'(?:[^'\\\n]|\\.)*'/g, "''");
  const fields = [...text.matchAll(/^-- @field \w (\w+)/gm)].map(([, field = '']) => field);
  const names = (pattern: RegExp) =>
    new Set([...code.matchAll(pattern)].flatMap(([, list = '']) => words(list)));
  return {
    includes: [...text.matchAll(/^-- @include (\S+)$/gm)].map(([, file = '']) => join(dirname(path), file)),
    declares: new Set([...names(/^local (?:function )?([\w, ]+)/gm), ...fields]),
    owns: new Set([
      ...names(/\b(?:local|local function|for) ([\w, ]+)/g),
      ...names(/\bfunction(?: [\w.]+)?\(([\w, ]+)/g),
    ]),
    uses: new Set(words(code.replace(/(?<!\brequest)\.[A-Za-z_]\w*/g, ''))),
    fields,
    rare: [...text.matchAll(/^-- @rare\n(?:local function (\w+)\(.*\)\n)?/gm)].map(([, called]) => called),
    code: uncommented,
  };
}

/**
 * The accesses that miss a record's field, because the embedding shortens a field only as `request.FIELD` and as a key of
 * a table constructor.
 */
function unshortened(code: string, fields: ReadonlySet<string>): string[] {
  const withDot = [...code.matchAll(/(\w+|[\])])\.(\w+)/g)].filter(
    ([, variable = '', field = '']) => fields.has(field) && variable !== 'request',
  );
  const withBrackets = [...code.matchAll(/[\w\])]+\['(\w+)'\]/g)].filter(([, field = '']) =>
    fields.has(field),
  );
  return [...withDot, ...withBrackets].map(([access]) => access);
}

/** The table constructors with fields of a record and other keys: the embedding would shorten only some of their keys. */
function mixedTables(code: string, fields: ReadonlySet<string>): string[] {
  return (code.match(/\{[^{}]*\}/g) ?? []).filter((table) => {
    const keys = table.match(/\w+(?= = )/g) ?? [];
    return new Set(keys.map((key) => fields.has(key))).size > 1;
  });
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
  const { includes, owns, uses, code } = fileOf(path);
  const room = name.split('/')[0] as string;

  it('reads the fields of a record only from a variable with the name `request`', () => {
    const ofRoom = paths.filter((one) => one.startsWith(`${room}/`));
    const fields = new Set(ofRoom.flatMap((one) => fileOf(join(FOLDER, one)).fields));
    expect(unshortened(code, fields)).toEqual([]);
    expect(mixedTables(code, fields)).toEqual([]);
  });

  it('includes every shared name that it uses', () => {
    const shared = paths
      .filter(
        (one) =>
          (one.startsWith(`${room}/scripts/shared/`) || one.startsWith('redis/scripts/shared/')) &&
          one !== name,
      )
      .flatMap((one) => [...fileOf(join(FOLDER, one)).declares]);
    const included = available(path);
    expect(
      [...new Set(shared)].filter((one) => uses.has(one) && !owns.has(one) && !included.has(one)),
    ).toEqual([]);
  });

  it('only calls rare functions, because a function is not created until the script calls a rare function', () => {
    expect(fileOf(path).rare).not.toContain(undefined);
    const rare = paths.flatMap((one) => fileOf(join(FOLDER, one)).rare as string[]);
    const otherUses = rare
      .filter((one) => uses.has(one) && (!owns.has(one) || fileOf(path).rare.includes(one)))
      .filter((one) => new RegExp(`(?<![.\\w])${one}\\b(?!\\()`).test(code));
    expect(otherUses).toEqual([]);
  });

  it('uses every file that it includes', () => {
    const unused = includes.filter((one) => ![...fileOf(one).declares].some((word) => uses.has(word)));
    expect(unused.map((one) => relative(FOLDER, one))).toEqual([]);
  });
});

it.each(Object.entries(scripts))('%s has only functions that it uses', (_, text) => {
  const names = [...text.matchAll(/^local function (\w+)\(/gm)].map(([, name = '']) => name);
  const unused = names.filter((name) => words(text).filter((word) => word === name).length < 2);
  expect(unused).toEqual([]);
});

describe('the library of leases', () => {
  const STATE = 'src/leases/scripts/shared/state.lua';
  const RELEASE = 'src/leases/scripts/lease-release.lua';
  const LAST_VARIABLE = 'local function unpack_record(';
  const FIRST_STEP = 'local refusal = epoch_check()\n';

  /** The library after this text was added before a text of a file. */
  const libraryWith = (added: string, file: string, find: string): string =>
    embeddedAfter([{ file, find, replace: added + find }]).get('leaseLibrary') ?? '';
  const withDeclaration = (lua: string): string => libraryWith(lua, STATE, LAST_VARIABLE);
  const resetIn = (library: string): string =>
    /^local function reset\(\)\n[^]*?\nend\n/m.exec(library)?.[0] ?? '';

  it('gives each declared variable its first value before an operation', () => {
    const reset = resetIn(
      withDeclaration(
        "local one, two = {}, 'text' -- a comment\nlocal three, four\nlocal five = {}\nlocal six, seven = {}\n",
      ),
    );
    expect(reset).toContain('\nif next(five) then five = {} end\n');
    expect(reset).toContain('\nsix, seven = {}\n');
    expect(reset).toContain("\none, two = {}, 'text'\n");
    expect(reset).toContain('\nthree, four = nil, nil\n');
  });

  it.each([
    ['over several lines', 'local made = {\n  1,\n}\n', 'local made = {'],
    ['that goes on in the next line', 'local made = 1\n  + 2\n', '+ 2'],
    ['of a name with capitals', 'local isMade = false\n', 'local isMade = false'],
    ['beside another one', 'local made = 1 local other = 2\n', 'local made = 1 local other = 2'],
    ['after a condition', 'local made\nif now then made = 1 end\n', 'if now then made = 1 end'],
  ])('cannot be built with a value %s, because it would not be reset', (_, lua, line) => {
    expect(() => withDeclaration(lua)).toThrow(
      `${STATE}: a library cannot tell what to reset for the line "${line}"`,
    );
  });

  it('cannot be built with an operation whose flags no entry has', () => {
    const find = '#!lua flags=allow-oom\n';
    const replace = '#!lua flags=allow-oom,allow-stale\n';
    expect(() => embeddedAfter([{ file: RELEASE, find, replace }])).toThrow(
      `${RELEASE}: no entry of a library has the flags of "#!lua flags=allow-oom,allow-stale"`,
    );
  });

  /** Names in capitals, which are not reset. */
  const constants = (count: number): string[] =>
    Array.from({ length: count }, (_, index) => `MADE${'_'.repeat(index)}`);
  const LAYOUT = 'src/leases/scripts/shared/layout.lua';
  const FIRST_VARIABLE = 'local key_start, key_end';

  it('cannot be built with more variables than Lua allows, and a constant with a short value is none', () => {
    const declared = (value: string) =>
      constants(100)
        .map((name) => `local ${name} = ${value}\n`)
        .join('');
    expect(() => withDeclaration(declared("'text'"))).toThrow(/^the library has 2\d\d variables$/);
    expect(() => withDeclaration(declared('1'))).not.toThrow();
  });

  it('cannot be built with more variables to reset than one function may use', () => {
    const variables = Array.from({ length: 30 }, (_, index) => `local made_${index}\n`);
    expect(() => withDeclaration(variables.slice(0, 5).join(''))).not.toThrow();
    expect(() => withDeclaration(variables.join(''))).toThrow(/^reset uses \d+ variables of the library$/);
  });

  it.each([
    ['an operation', 'release', RELEASE, FIRST_STEP, ''],
    ['a function', 'int', STATE, 'return string.format', ''],
    [
      'a function with a line that ends in `end`',
      'begin',
      STATE,
      'own_id = id\n',
      'if id then int(id) end\n  ',
    ],
  ])('cannot be built with %s that uses more variables than Lua allows', (_, name, file, find, before) => {
    const made = constants(20);
    const NESTED = ['first', 'shorten'];
    const functions = [...scripts.leaseLibrary.matchAll(/^local function (\w+)/gm)].map(
      ([, one = '']) => one,
    );
    const reset = resetIn(scripts.leaseLibrary);
    const variables = [...reset.matchAll(/^(?:if next\((\w+)\)|([\w, ]+) = )/gm)];
    const known = [
      ...variables.flatMap(([, table, list]) => words(table ?? list ?? '')),
      ...functions.filter((one) => one !== name && !NESTED.includes(one)),
    ];
    const build = (count: number) => {
      const used = [...made, ...known].slice(0, count);
      const declaration = `local ${made.join(', ')} = ${made.map(() => "''").join(', ')}\n`;
      return embeddedAfter([
        { file: LAYOUT, find: FIRST_VARIABLE, replace: declaration + FIRST_VARIABLE },
        { file, find, replace: `${before}int(${used.join(' + ')}) ${find}` },
      ]);
    };
    expect(known.length).toBeGreaterThan(42);
    expect(() => build(62)).toThrow(new RegExp(`^${name} uses [67]\\d variables of the library$`));
    expect(() => build(20)).not.toThrow();
  });

  it('shortens the fields of records in operations, and no variable with the name of a field', () => {
    const lua = `local ticket, metadata = 1, { 2 }
local function mode(secret) return secret end
`;
    const library = libraryWith(lua, RELEASE, FIRST_STEP);
    expect(library).toContain(lua);
    expect(library).toContain('r.a ~= attach');
    expect(library).not.toContain('request.');
  });
});
