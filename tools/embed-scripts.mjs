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
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compact, fieldLetters, inlineConstants, shortenFields, withoutUnused } from './lua-text.mjs';
import { ARGUMENTS, libraryOf, operationOf } from './script-library.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const target = join(root, 'generated/redis/scripts.ts');

/** The files that a file includes, in the order of their text. Files in `done` are already part of the script. */
function includesOf(text, file, read, done = new Set()) {
  return [...text.matchAll(/^-- @include (\S+)$/gm)]
    .map(([, path]) => join(dirname(file), path))
    .flatMap((included) => {
      if (done.has(included)) return [];
      done.add(included);
      const lua = read(included);
      return [...includesOf(lua, included, read, done), { file: relative(root, included), lua }];
    });
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

/** The place of an operation's own arguments in a script, behind the arguments of `-- @script` lines. */
const FIRST_ARGUMENT = 5;

/** `-- @enclose` opens a function that ends with the script. */
function enclose(lua) {
  const [before, after] = lua.split(/^-- @enclose$/m);
  return after === undefined ? before : `${before}return (function()\n${after}\nend)()`;
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
        const operations = ofFolder
          .map((one) => operationOf(relative(root, one.file), one.name, read(one.file)))
          .filter((one) => one);
        const shared = ofFolder.flatMap((one) => includesOf(read(one.file), one.file, read, done));
        lua = inlineConstants(compact(libraryOf(text, operations, shared)));
      } else {
        const script = text.replace(ARGUMENTS, `local $1 = unpack(ARGV, ${FIRST_ARGUMENT})\n`);
        const shared = includesOf(own, file, read).map((one) => one.lua);
        const composed = delayRareFunctions(withoutUnused(shared.join(''), own), script);
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
