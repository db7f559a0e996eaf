// Writes the text of each Lua script to generated/redis/scripts.ts, so that the server needs no Lua files at run time.
// With `--check` the tool only compares. A Lua file of src is a script if its first line is `#!lua` with the
// script's flags. All other files are shared. A script whose arguments are `local NAME, ... = ...` is an operation too: the
// file with the first line `#!lua name=LIBRARY` becomes a library of all operations of its folder, as functions of Redis.
// These comment lines direct the tool:
//
//   -- @include PATH          puts PATH (relative to this file) and its includes in front, once per script
//   -- @field LETTER NAME     `request.NAME` and the key NAME of a table constructor become LETTER, because Redis
//                             stores records with one-letter fields. Other variables must not contain records:
//                             test/redis/includes.test.ts checks this
//   -- @enclose               puts the rest of the script into one function
//   -- @script                the statements up to the next empty line are for scripts. A library only declares their variables
//   -- @operations            the place of the operations in a library, as tables `keep`, `grow` and `read` by their flags, and of
//                             `reset`, which gives all other shared variables their first values before each operation
//   -- @rare                  marks the next function of a shared file, which ends with a line `end`: few runs of scripts
//                             call the function
//
// A script creates its functions in every run, at 0.1 us each, so it gets only the shared functions that it reaches. The
// rare functions are created together, when the script first calls one of them. `@enclose` makes the creation of functions
// cheaper: Lua finds a variable of an enclosing function without a search, but searches all captured variables for a local
// of the same function. Constants (`local NAME = value`, NAME in capitals) are replaced by their values for the same reason.
import { mkdirSync, readFileSync, readdirSync, realpathSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const target = join(root, 'generated/redis/scripts.ts');

/** The text of the includes of a file. Files in `done` are already part of the script. */
function includesOf(text, file, read, done = new Set()) {
  return [...text.matchAll(/^-- @include (\S+)$/gm)]
    .map(([, path]) => join(dirname(file), path))
    .map((included) => {
      if (done.has(included)) return '';
      done.add(included);
      const lua = read(included);
      return includesOf(lua, included, read, done) + lua;
    })
    .join('');
}

/**
 * Leaves out the shared functions that the script does not reach. Lua calls only functions that are declared before, so one
 * look from the last function to the first is enough.
 */
function withoutUnused(shared, own) {
  const functions = [...shared.matchAll(/^(?:-- @rare\n)?local function (\w+)\((?:.* end|[^]*?\nend)\n/gm)];
  let [text, at, kept] = [compact(own), shared.length, ''];
  for (const { 0: lua, 1: name, index } of functions.reverse()) {
    const between = shared.slice(index + lua.length, at);
    text += compact(between);
    const isUsed = new RegExp(`(?<![.\\w])${name}\\b`).test(text);
    if (isUsed) text += compact(lua);
    kept = (isUsed ? lua : '') + between + kept;
    at = index;
  }
  return shared.slice(0, at) + kept;
}

/**
 * Moves the functions after `-- @rare` lines into one function, `rare`, which creates them in its first call. In the
 * other functions and in the script's own text, `rare().NAME(` takes the place of `NAME(`.
 */
function delayRareFunctions(shared, own) {
  const functions = [...shared.matchAll(/^-- @rare\n(local function (\w+)\([^]*?\nend\n)/gm)];
  if (functions.length === 0) return shared + own;
  const others = functions.reduce((text, [moved]) => text.replace(moved, () => ''), shared);
  const called = functions.map(([, , name]) => name);
  const call = new RegExp(`(?<![.\\w])(?:${called.join('|')})\\(`, 'g');
  const outside = [others, own].map((text) => text.replace(call, 'rare().$&'));
  const inside = functions.map(([, lua]) => lua).join('');
  const table = called.map((name) => `${name} = ${name}`).join(', ');
  return `local rare, rare_functions
${outside[0]}
rare = function()
if rare_functions then return rare_functions end
${inside}
rare_functions = { ${table} }
return rare_functions
end
${outside[1]}`;
}

/** The statement that names the arguments of an operation. A script has them behind the arguments of `-- @script` lines. */
const ARGUMENTS = /^local ([\w, ]+) = \.\.\.\n/m;
const FIRST_ARGUMENT = 5;

/** `-- @enclose` opens a function that ends with the script. */
function enclose(lua) {
  const [before, after] = lua.split(/^-- @enclose$/m);
  return after === undefined ? before : `${before}return (function()\n${after}\nend)()`;
}

/** Removes comments and indentation, because Redis keeps the text of every script in memory. */
function compact(lua) {
  const lines = lua.split('\n').map((line) =>
    line
      .replace(/^\s*--.*$/, '')
      .replace(/\s+-- .*$/, '')
      .trim(),
  );
  return lines.filter((line) => line !== '').join('\n');
}

/** Maps the name of each field that a `-- @field` line declares to its stored letter. */
const fieldLetters = (lua) =>
  new Map([...lua.matchAll(/^-- @field (\w) (\w+)/gm)].map(([, letter, name]) => [name, letter]));

function shortenFields(lua, letters) {
  if (letters.size === 0) return lua;
  const letterOf = (name) => {
    if (!letters.has(name)) throw new Error(`no -- @field line declares request.${name}`);
    return letters.get(name);
  };
  return lua
    .replace(/\brequest\b(?:\.(\w+))?/g, (_, name) => (name ? `r.${letterOf(name)}` : 'r'))
    .replace(/\{[^{}]*\}/g, (table) => table.replace(/\w+(?= = )/g, (name) => letters.get(name) ?? name));
}

/** Replaces each constant by its value. A word in quotes is no constant. */
function inlineConstants(lua) {
  const constant = /^local ([A-Z_]+) = (KEYS\[\d+\]|\d+|'\w')\n/gm;
  return [...lua.matchAll(constant)].reduce(
    (text, [, name, value]) => text.replace(new RegExp(`(?<!')\\b${name}\\b(?!')`, 'g'), value),
    lua.replace(constant, ''),
  );
}

/** The entry of a library by the first line of an operation's script. Redis checks the flags of the entry. */
const ENTRIES = new Map([
  ['#!lua flags=allow-oom', 'keep'],
  ['#!lua', 'grow'],
  ['#!lua flags=no-writes', 'read'],
]);

/** The limits of Lua 5.1: the variables of one function, and how many of them another function may use. */
const MOST_LOCALS = 200;
const MOST_UPVALUES = 60;
/** The variables that a library adds to the shared ones. */
const OWN_LOCALS = 5;

const namesIn = (list) => list.split(/, */);

/** Throws if Lua would refuse the library. Redis's error would not name the function. */
function checkLimits(shared, functions) {
  const locals = [...shared.matchAll(/^local (?:function )?([\w, ]+)/gm)].flatMap(([, list]) =>
    namesIn(list.trim()),
  );
  if (locals.length > MOST_LOCALS - OWN_LOCALS) throw new Error(`the library has ${locals.length} variables`);
  for (const [name, lua] of functions) {
    const words = new Set(lua.match(/(?<![.\w])[a-z_]\w*/gi));
    const count = locals.filter((one) => words.has(one)).length;
    if (count > MOST_UPVALUES) throw new Error(`${name} uses ${count} variables of the library`);
  }
}

/** An operation of a library: a script with named arguments. */
function operationOf(name, text) {
  const [head] = text.split('\n', 1);
  const [whole, args] = ARGUMENTS.exec(text) ?? [];
  if (whole === undefined) return undefined;
  const body = text.replace(`${head}\n`, '').replace(whole, '');
  const [, entry] = [...ENTRIES].find(([line]) => line === head);
  return { name: name.replace(/^\w+-/, ''), entry, args: namesIn(args), body };
}

/**
 * Composes a library. Its functions are created once, so a variable would keep its value for the next operation. `reset` is
 * made of the declarations of all variables, so that it misses none.
 */
function libraryOf(text, operations, shared) {
  const [own, assigned, resets] = [text.replace('-- @operations\n', ''), new Set(), []];
  // Not over the tables of operations, which would make a variable of an operation look like the field of a record.
  const short = (part) => shortenFields(compact(part), fieldLetters(shared));
  const bodies = operations.map(({ body }) => body).join('');
  const declared = withoutUnused(shared, bodies + own).replace(
    /^-- @script\n([^]*?)\n\n/gm,
    (_, statements) => {
      const lists = [...statements.matchAll(/^local ([\w, ]+) = /gm)].map(([, list]) => list);
      for (const name of lists.flatMap(namesIn)) assigned.add(name);
      return lists.map((list) => `local ${list}\n`).join('');
    },
  );
  const lua = declared.replace(
    /^local (?!function )([a-z][a-z_, \d]*?)(?: = (.*?))?(?: *-- .*)?$/gm,
    (
      _,
      list,
      values = namesIn(list)
        .map(() => 'nil')
        .join(', '),
    ) => {
      if (!namesIn(list).every((name) => assigned.has(name))) resets.push(`${list} = ${values}`);
      return `local ${list}`;
    },
  );
  const reset = `local function reset()\n${resets.join('\n')}\nend\n`;
  const tables = [...ENTRIES.values()].map((entry) => {
    const ofEntry = operations.filter((one) => one.entry === entry);
    const members = ofEntry.map(
      ({ name, args, body }) =>
        `${name} = { argument_count = ${args.length}, run = function(${args.join(', ')})\n${short(body)}\nend },\n`,
    );
    return `local ${entry} = {\n${members.join('')}}\n`;
  });
  const functions = [...lua.matchAll(/^local function (\w+)\([^]*?(?: end|\nend)\n/gm)];
  checkLimits(lua, [
    ...functions.map(([whole, name]) => [name, whole]),
    ...operations.map(({ name, body }) => [name, body]),
    ['reset', reset],
  ]);
  return text.replace('-- @operations\n', () => `${short(lua + reset)}\n${tables.join('')}`);
}

const folder = join(root, 'src');
const readSource = (file) => readFileSync(file, 'utf8');

/**
 * The embedded text of each script by the name of its constant. `read` returns the text of a Lua file: the mutation run
 * (test/mutants) reads changed files.
 * @param {(path: string) => string} [read]
 * @returns {Map<string, string>}
 */
export function embeddedScripts(read = readSource) {
  const files = readdirSync(folder, { recursive: true })
    .filter((file) => file.endsWith('.lua') && readSource(join(folder, file)).startsWith('#!lua'))
    .map((file) => ({ file: join(folder, file), name: basename(file, '.lua') }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  return new Map(
    files.map(({ file, name }) => {
      const own = read(file);
      const [head] = own.split('\n', 1);
      const text = own.replace(`${head}\n`, '');
      let lua;
      if (head.startsWith('#!lua name=')) {
        const done = new Set();
        const ofFolder = files.filter((one) => dirname(one.file) === dirname(file));
        const operations = ofFolder.map((one) => operationOf(one.name, read(one.file))).filter((one) => one);
        const shared = ofFolder.map((one) => includesOf(read(one.file), one.file, read, done)).join('');
        lua = inlineConstants(compact(libraryOf(text, operations, shared)));
      } else {
        const script = text.replace(ARGUMENTS, `local $1 = unpack(ARGV, ${FIRST_ARGUMENT})\n`);
        const composed = delayRareFunctions(withoutUnused(includesOf(own, file, read), own), script);
        lua = inlineConstants(shortenFields(compact(enclose(composed)), fieldLetters(composed)));
      }
      return [name.replace(/-(.)/g, (_, letter) => letter.toUpperCase()), `${head}\n${lua}\n`];
    }),
  );
}

function main() {
  let text = '// Written by tools/embed-scripts.mjs from the Lua files of src. Do not edit.\n';
  for (const [name, lua] of embeddedScripts()) text += `\nexport const ${name} = ${JSON.stringify(lua)};\n`;
  if (!process.argv.includes('--check')) {
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, text);
  } else if (readFileSync(target, 'utf8') !== text) {
    console.error('generated/redis/scripts.ts differs from the Lua files of src: run npm run build');
    process.exit(1);
  }
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) main();
