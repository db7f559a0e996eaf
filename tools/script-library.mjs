// Composes a library: the operations of a folder as functions of Redis (tools/embed-scripts.mjs). Redis creates the functions
// of a library once, so a variable would keep its value for the next operation. `reset` is made of the declarations of all
// variables, so that it misses none. A declaration that this file does not understand is an error.
import {
  compact,
  fieldLetters,
  FUNCTION,
  inlineConstants,
  shortenFields,
  withoutComments,
  withoutUnused,
} from './lua-text.mjs';

/** The statement that names the arguments of an operation. */
export const ARGUMENTS = /^local ([\w, ]+) = \.\.\.\n/m;

/** The entry of a library by the first line of an operation's script. Redis checks the flags of the entry. */
const ENTRIES = new Map([
  ['#!lua flags=allow-oom', 'keep'],
  ['#!lua', 'grow'],
  ['#!lua flags=no-writes', 'read'],
]);

/** The limits of Lua 5.1: the variables of one function, and how many of them another function may use. */
const MOST_LOCALS = 200;
const MOST_UPVALUES = 60;

/** The place of the operations in a library. */
const PLACE = '-- @operations\n';
const SCRIPT_STATEMENTS = /^-- @script\n([^]*?)\n\n/gm;
const SCRIPT_VARIABLES = /^local ([\w, ]+) = /gm;
const VARIABLES = /^local ([a-z][a-z_\d]*(?:, [a-z][a-z_\d]*)*)(?: = (.+))?$/gm;
const CONSTANTS = /^local [A-Z][A-Z_\d]*(?:, [A-Z][A-Z_\d]*)*(?: = .+)?$/gm;

const namesIn = (list) => list.split(', ');
const withoutTexts = (lua) => lua.replace(/'(?:[^'\\\n]|\\.)*'/g, "''");

/** An operation: a script with named arguments. Undefined: the script has none. */
export function operationOf(file, name, text) {
  const [head] = text.split('\n', 1);
  const [whole, args] = ARGUMENTS.exec(text) ?? [];
  if (whole === undefined) return undefined;
  const entry = ENTRIES.get(head);
  if (entry === undefined) throw new Error(`${file}: no entry of a library has the flags of "${head}"`);
  const body = text.replace(`${head}\n`, '').replace(whole, '');
  return { name: name.replace(/^\w+-/, ''), entry, args: namesIn(args), body };
}

/**
 * Composes a library.
 * @param {string} text of the library's own file
 * @param {{ name: string, entry: string, args: string[], body: string }[]} operations
 * @param {{ file: string, lua: string }[]} files that the operations and the library include
 */
export function libraryOf(text, operations, files) {
  const own = text.replace(PLACE, '');
  const given = new Set(files.flatMap(({ lua }) => scriptVariables(lua)));
  const declared = files.map(({ file, lua }) => understood(file, withoutComments(declareOnly(lua))));
  const bodies = operations.map(({ body }) => body).join('');
  const shared = withoutUnused(declared.join(''), bodies + own);
  const reset = resetOf(shared, given);
  checkLimits(shared, withoutComments(own), reset, operations);
  const letters = fieldLetters(files.map(({ lua }) => lua).join(''));
  // Not over the tables of operations, which would make a variable of an operation look like the field of a record.
  const short = (part) => shortenFields(compact(part), letters);
  const variables = shared.replace(VARIABLES, (line, list, values) =>
    isTable(list, values) ? line : `local ${list}`,
  );
  const tables = [...ENTRIES.values()].map((entry) => tableOf(entry, operations, short)).join('');
  return text.replace(PLACE, () => `${short(variables + reset)}\n${tables}`);
}

/** The variables that the library's own file assigns, as a script does by the statements after a `-- @script` line. */
function scriptVariables(lua) {
  const statements = [...lua.matchAll(SCRIPT_STATEMENTS)].map(([, block]) => block).join('\n');
  return [...statements.matchAll(SCRIPT_VARIABLES)].flatMap(([, list]) => namesIn(list));
}

function declareOnly(lua) {
  return lua.replace(SCRIPT_STATEMENTS, (block) => {
    const lists = [...block.matchAll(SCRIPT_VARIABLES)].map(([, list]) => list);
    return lists.map((list) => `local ${list}\n`).join('');
  });
}

/** Throws unless each line outside of functions is one whole declaration, of variables or of constants. */
function understood(file, lua) {
  const rest = lua.replace(FUNCTION, '').replace(VARIABLES, unlessWhole).replace(CONSTANTS, unlessWhole);
  const [line] = compact(rest).split('\n');
  if (line !== '') throw new Error(`${file}: a library cannot tell what to reset for the line "${line}"`);
  return lua;
}

/** A line stays if it has several statements, or a bracket that a later line closes. */
function unlessWhole(line) {
  const code = withoutTexts(line);
  const count = (brackets) => code.match(brackets)?.length ?? 0;
  const isWhole = count(/[({[]/g) === count(/[)}\]]/g) && !/;|\S.*\blocal /.test(code);
  return isWhole ? '' : line;
}

const isTable = (list, values) => values === '{}' && !list.includes(',');

/**
 * The function that gives all variables their first values, except those that are `given` before each operation. A table that
 * stayed empty is kept, because a new one costs more than the look. So no reply may have such a table.
 */
function resetOf(shared, given) {
  const lines = [...shared.matchAll(VARIABLES)]
    .filter(([, list]) => !namesIn(list).every((name) => given.has(name)))
    .map(([, list, values]) => {
      if (isTable(list, values)) return `if next(${list}) then ${list} = {} end\n`;
      return `${list} = ${values ?? namesIn(list).fill('nil').join(', ')}\n`;
    });
  return `local function reset()\n${lines.join('')}end\n`;
}

/** The table of an entry's operations by their names. */
function tableOf(entry, operations, short) {
  const members = operations
    .filter((one) => one.entry === entry)
    .map(
      ({ name, args, body }) =>
        `${name} = { argument_count = ${args.length}, run = function(${args.join(', ')})\n${short(body)}\nend },\n`,
    );
  return `local ${entry} = {\n${members.join('')}}\n`;
}

/** Throws if Lua would refuse the library. Redis's error would not name the function. */
function checkLimits(shared, own, reset, operations) {
  const lua = inlineConstants(shared + reset + own);
  const functions = [...lua.matchAll(FUNCTION)].map(([whole, name]) => [name, whole]);
  const rest = lua.replace(FUNCTION, '');
  const variables = [...rest.matchAll(/^local ([\w, ]+)/gm)].flatMap(([, list]) => namesIn(list.trim()));
  const locals = [...variables, ...functions.map(([name]) => name), ...ENTRIES.values()];
  if (locals.length > MOST_LOCALS) throw new Error(`the library has ${locals.length} variables`);
  const bodies = operations.map(({ name, body }) => [name, withoutComments(body)]);
  for (const [name, body] of [...functions, ...bodies]) {
    const words = new Set(withoutTexts(body).match(/(?<![.\w])[a-z_]\w*/gi));
    const count = locals.filter((one) => one !== name && words.has(one)).length;
    if (count > MOST_UPVALUES) throw new Error(`${name} uses ${count} variables of the library`);
  }
}
