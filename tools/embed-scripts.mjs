// Writes generated/redis/scripts.ts: each script with what it uses of its noun's prelude in front and its flags on
// top, so that the server needs no files at run time. `--check` only compares.
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = join(root, 'src/redis/scripts');
const target = join(root, 'generated/redis/scripts.ts');

/**
 * What Redis may do with a script. Renewing, releasing, taking an offer, pausing and deleting must work when memory
 * is full (`allow-oom`), and so must removing a recent and keeping epochs; a new acquire is refused then, before its
 * first line, and so is a recent that is added.
 */
const flags = {
  'permits-acquire': '',
  'permits-claim': 'allow-oom',
  'permits-withdraw': 'allow-oom',
  'permits-touch': 'allow-oom',
  'permits-renew': 'allow-oom',
  'permits-release': 'allow-oom',
  'permits-limit': 'allow-oom',
  'permits-delete': 'allow-oom',
  'permits-inspect': 'no-writes',
  'dictionary-create': '',
  'dictionary-write': '',
  'dictionary-start-import': '',
  'dictionary-end-import': 'allow-oom',
  'dictionary-drop': 'allow-oom',
  'dictionary-sweep': 'allow-oom',
  'dictionary-suggest': 'no-writes',
  'dictionary-list': 'no-writes',
  'dictionary-inspect': 'no-writes',
  'epoch-adopt': 'allow-oom',
  'epoch-end': 'allow-oom',
  'recents-add': '',
  'recents-remove': 'allow-oom',
};

// Comments and indentation are for people; Redis keeps every script's text in memory.
const compact = (lua) =>
  lua
    .split('\n')
    .map((line) =>
      line
        .replace(/^\s*--.*$/, '')
        .replace(/\s+-- .*$/, '')
        .trim(),
    )
    .filter((line) => line !== '')
    .join('\n');

/**
 * The files of each noun's prelude, in the order in which they build on each other; a script's noun is the first word
 * of its name. A noun that is not here has no prelude.
 */
const preludes = {
  permits: ['state', 'epoch', 'requests', 'queue', 'answers'].map((part) => `leases/shared/${part}`),
  dictionary: ['generations', 'index', 'entries', 'jobs', 'matching', 'typos'].map(
    (part) => `autocomplete/shared/dictionary/${part}`,
  ),
  recents: ['autocomplete/shared/recents/list'],
};

const CONSTANT = /^local ([A-Z_]+) = (KEYS\[\d+\]|\d+)$/;

const isFunction = (statement) => statement.startsWith('local function');

/** The statements of a noun's prelude, each from its `local` or `if` at the left margin on. */
function readPrelude(noun) {
  const statements = (preludes[noun] ?? [])
    .map((part) => readFileSync(join(folder, `${part}.lua`), 'utf8'))
    .join('\n')
    .split(/\n(?=local |if )/)
    .map(compact)
    .filter((statement) => statement !== '');
  // The last of what all functions of the permits engine share; a noun with few functions gains nothing.
  const innermost =
    noun === 'permits' ? statements.findLast((statement) => !isFunction(statement)) : undefined;
  return {
    innermost,
    constants: statements.map((statement) => CONSTANT.exec(statement)).filter((found) => found !== null),
    variables: statements
      .filter((statement) => !CONSTANT.test(statement))
      .map((text) => ({ text, name: /^local (?:function )?(\w+)/.exec(text)?.[1] })),
  };
}

const uses = (lua, name) => new RegExp(`\\b${name}\\b`).test(lua);

/**
 * Every run of a script makes all its functions anew, and ties each to every local that it uses. So a script gets
 * only what it uses of the prelude (a statement uses what stands before it, one that declares nothing is for all),
 * and the constants are put where they are used; the same word between quotes is another one.
 */
function withPrelude({ constants, variables, innermost }, source) {
  const whole = variables.reduceRight((script, { text, name }) => {
    const inner = text === innermost ? inFunction(script) : script;
    return name === undefined || uses(script, name) ? `${text}\n${inner}` : inner;
  }, source);
  return constants.reduce(
    (script, [, name, value]) => script.replace(new RegExp(`(?<!')\\b${name}\\b(?!')`, 'g'), value),
    whole,
  );
}

/**
 * To tie a function to a local, Lua walks along all that were tied before: back to the very first, for the state that
 * all functions share. Once it is around them it is found at once, which saves a tenth of a script's time.
 */
const inFunction = (script) => (isFunction(script) ? `return (function()\n${script}\nend)()` : script);

/** Each script's file, by the script's name. What lies in a folder below is shared. */
const files = new Map(
  readdirSync(folder)
    .flatMap((room) => readdirSync(join(folder, room)).map((file) => join(folder, room, file)))
    .filter((file) => file.endsWith('.lua'))
    .map((file) => [basename(file, '.lua'), file]),
);
const names = [...files.keys()].sort();

let text = '// Written by tools/embed-scripts.mjs from the Lua files of src/redis/scripts. Do not edit.\n';
for (const name of names) {
  if (!(name in flags)) throw new Error(`embed-scripts.mjs: say which flags ${name}.lua runs with`);
  const script = withPrelude(readPrelude(name.split('-')[0]), compact(readFileSync(files.get(name), 'utf8')));
  const constant = name.replace(/-(.)/g, (_, letter) => letter.toUpperCase());
  const head = flags[name] === '' ? '#!lua' : `#!lua flags=${flags[name]}`;
  text += `\nexport const ${constant} = ${JSON.stringify(`${head}\n${script}\n`)};\n`;
}

if (process.argv.includes('--check')) {
  if (readFileSync(target, 'utf8') !== text) {
    console.error('generated/redis/scripts.ts differs from src/redis/scripts: run npm run build');
    process.exit(1);
  }
} else {
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, text);
}
