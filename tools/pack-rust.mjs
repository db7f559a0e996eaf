/**
 * Makes the crates holdfast-client and holdfast-proto from clients/rust and generated/rust:
 *
 *     node tools/pack-rust.mjs [FOLDER]      default: dist/packages/rust
 *
 * The folder then has both crates, for `cargo add --path FOLDER/holdfast-client`. The same sources give the same bytes.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const CRATES = { 'holdfast-client': 'clients/rust', 'holdfast-proto': 'generated/rust' };
const STUBS_IN_SOURCES = 'path = "../../generated/rust"';

/** The content of the published files of a crate by their paths. */
function filesOf(folder) {
  const files = new Map([['LICENSE', readFileSync(join(root, 'LICENSE'), 'utf8')]]);
  const read = (path) => files.set(path, readFileSync(join(root, folder, path), 'utf8'));
  read('Cargo.toml');
  for (const path of readdirSync(join(root, folder, 'src'), { recursive: true })) {
    if (path.endsWith('.rs')) read(join('src', path));
  }
  return files;
}

function manifest(text, version) {
  const [own] = text.split('\n[workspace]');
  return `${own
    .replace(/^version = ".*"$/m, `version = "${version}"`)
    .replace(STUBS_IN_SOURCES, 'path = "../holdfast-proto"')
    .replace(/(holdfast-proto = .*version = ")[^"]*/, `$1${version}`)
    .trimEnd()}\n`;
}

function pack(out) {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  let count = 0;
  for (const [crate, folder] of Object.entries(CRATES)) {
    const files = filesOf(folder);
    files.set('Cargo.toml', manifest(files.get('Cargo.toml'), version));
    if (crate === 'holdfast-client')
      files.set('README.md', readFileSync(join(root, folder, 'README.md'), 'utf8'));
    rmSync(join(out, crate), { recursive: true, force: true });
    for (const [path, content] of files) {
      mkdirSync(dirname(join(out, crate, path)), { recursive: true });
      writeFileSync(join(out, crate, path), content);
      count += 1;
    }
  }
  return `holdfast-client and holdfast-proto ${version}: ${count} files in ${out}`;
}

console.log(pack(resolve(process.argv[2] ?? join(root, 'dist', 'packages', 'rust'))));
