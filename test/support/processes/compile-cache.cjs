'use strict';
/**
 * `node --require` of this file starts a program of dist/ in two thirds of the time: it keeps what V8 has compiled, and
 * where modules were found, in a file for the next starts. The file belongs to the present build, and a module whose text
 * has changed is compiled again. From Node 22 on, Node can do this by itself.
 */
const { createHash } = require('node:crypto');
const { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } = require('node:fs');
const Module = require('node:module');
const { dirname, join, sep } = require('node:path');
const vm = require('node:vm');

const ROOT = join(__dirname, '..', '..', '..');
const FOLDER = join(ROOT, 'node_modules', '.cache', 'holdfast-starts');
/** The time after the start when most modules are loaded. Many programs are killed, and never come to their end. */
const SAVE_AFTER_MS = 2000;

const digest = (...parts) =>
  parts.reduce((hash, part) => hash.update(part), createHash('sha1')).digest('hex');

/** What earlier starts have left: the code of each module in `code`, and where. */
let kept = { modules: {}, paths: {} };
let code = Buffer.alloc(0);
/** The modules of this start, by file. */
const loaded = new Map();
let isNew = false;

function install(program, stamp) {
  const flags = [process.version, process.arch, ...process.execArgv, process.env.NODE_OPTIONS ?? ''];
  const prefix = digest(program, ...flags);
  const name = `${prefix}-${digest(stamp)}`;
  read(join(FOLDER, name));
  Object.assign(Module._pathCache, kept.paths);
  Module.prototype._compile = compile;
  const save = () => {
    if (isNew) write(prefix, name);
  };
  setTimeout(save, SAVE_AFTER_MS).unref();
  process.on('exit', save);
}

function read(file) {
  try {
    const all = readFileSync(file);
    const start = 4 + all.readUInt32LE(0);
    kept = JSON.parse(all.toString('utf8', 4, start));
    code = all.subarray(start);
  } catch {
    // The first start of this program.
  }
}

const compileAnew = Module.prototype._compile;

/** In place of `compileAnew`, which keeps nothing. */
function compile(text, filename) {
  // Node finds the loader of an `import()` only in what it has compiled itself.
  if (/\bimport\(/.test(text)) return compileAnew.call(this, text, filename);
  const source = Module.wrap(text.startsWith('#!') ? `//${text}` : text);
  const hash = digest(source);
  const entry = kept.modules[filename];
  const cachedData = entry?.hash === hash ? code.subarray(entry.from, entry.to) : undefined;
  const script = new vm.Script(source, { filename, cachedData });
  if (cachedData === undefined || script.cachedDataRejected) isNew = true;
  loaded.set(filename, { script, hash });
  const require = (id) => this.require(id);
  require.resolve = (request, options) => Module._resolveFilename(request, this, false, options);
  require.main = process.mainModule;
  require.extensions = Module._extensions;
  require.cache = Module._cache;
  const wrapped = script.runInThisContext();
  return wrapped.call(this.exports, this.exports, require, this, filename, dirname(filename));
}

/** Writes what this start has loaded, and what earlier starts have loaded beside. */
function write(prefix, name) {
  isNew = false;
  const [modules, parts] = [{}, []];
  let from = 0;
  const add = (filename, hash, part) => {
    modules[filename] = { hash, from, to: from + part.length };
    parts.push(part);
    from += part.length;
  };
  for (const [filename, { script, hash }] of loaded) add(filename, hash, script.createCachedData());
  for (const [filename, entry] of Object.entries(kept.modules))
    if (!loaded.has(filename)) add(filename, entry.hash, code.subarray(entry.from, entry.to));
  const head = Buffer.from(JSON.stringify({ modules, paths: { ...Module._pathCache } }));
  const size = Buffer.alloc(4);
  size.writeUInt32LE(head.length);
  try {
    mkdirSync(FOLDER, { recursive: true });
    const draft = join(FOLDER, `${name}.${process.pid}`);
    writeFileSync(draft, Buffer.concat([size, head, ...parts]));
    renameSync(draft, join(FOLDER, name));
    for (const other of readdirSync(FOLDER))
      if (other.startsWith(prefix) && !other.startsWith(name)) rmSync(join(FOLDER, other), { force: true });
  } catch {
    // Without the file, starts take longer.
  }
}

const [, program = ''] = process.argv;
// A changed build in another folder, such as that of a mutant, is started once.
if (program.startsWith(join(ROOT, 'dist') + sep)) {
  try {
    if (Module.enableCompileCache) Module.enableCompileCache(FOLDER);
    else install(program, readFileSync(join(ROOT, 'dist', '.built-from')));
  } catch {
    // Not built by tools/build.mjs.
  }
}
