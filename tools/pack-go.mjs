/**
 * Makes the Go module holdfast.dev/go from clients/go and the stubs in generated/go:
 *
 *     node tools/pack-go.mjs [FOLDER]      default: dist/packages/go
 *
 * The folder then has the module in two forms: `module/` for a `replace` in go.mod, and `proxy/` for
 * `GOPROXY=file://FOLDER/proxy`. The same sources give the same bytes.
 */
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { zip } from './packages/zip.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const MODULE = 'holdfast.dev/go';
/** The driver of the conformance kit is no part of the package. */
const LEFT_OUT = /^conformance\/|_test\.go$/;
const KINDS = /\.go$|^go\.mod$|^go\.sum$|^README\.md$/;

/** The paths of all files below a folder. */
function filesBelow(folder) {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name).slice(join(root, folder).length + 1));
}

/** The content of the published files by their paths. */
function moduleFiles() {
  const files = new Map([['LICENSE', readFileSync(join(root, 'LICENSE'))]]);
  for (const path of filesBelow('clients/go')) {
    if (KINDS.test(path) && !LEFT_OUT.test(path))
      files.set(path, readFileSync(join(root, 'clients/go', path)));
  }
  for (const path of filesBelow('generated/go')) {
    if (path.endsWith('.go')) files.set(path, readFileSync(join(root, 'generated/go', path)));
  }
  files.set('go.mod', Buffer.from(withoutStubsModule(files.get('go.mod').toString())));
  return new Map([...files].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** In the sources the stubs are a module of their own. In the package they are a folder. */
function withoutStubsModule(goMod) {
  const lines = goMod.split('\n').filter((line) => !/holdfast\.dev\/go\/holdfast|tools\/pack-go/.test(line));
  return `${lines.join('\n').trimEnd()}\n`;
}

function pack(out) {
  const version = `v${JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version}`;
  const files = moduleFiles();
  rmSync(join(out, 'module'), { recursive: true, force: true });
  rmSync(join(out, 'proxy'), { recursive: true, force: true });
  for (const [path, content] of files) {
    mkdirSync(dirname(join(out, 'module', path)), { recursive: true });
    writeFileSync(join(out, 'module', path), content);
  }
  const versions = join(out, 'proxy', MODULE, '@v');
  mkdirSync(versions, { recursive: true });
  writeFileSync(join(versions, 'list'), `${version}\n`);
  writeFileSync(
    join(versions, `${version}.info`),
    `${JSON.stringify({ Version: version, Time: '1980-01-01T00:00:00Z' })}\n`,
  );
  copyFileSync(join(out, 'module', 'go.mod'), join(versions, `${version}.mod`));
  const inZip = [...files].map(([path, content]) => [`${MODULE}@${version}/${path}`, content]);
  writeFileSync(join(versions, `${version}.zip`), zip(inZip));
  return `${MODULE} ${version}: ${files.size} files in ${out}`;
}

console.log(pack(resolve(process.argv[2] ?? join(root, 'dist', 'packages', 'go'))));
