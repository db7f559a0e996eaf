// Compares new output with the committed files, and updates them.

import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Output of builds in the folders of the stubs. */
const leftovers = /(^|[\\/])(__pycache__|target|build|Cargo\.lock|[^\\/]+\.egg-info)([\\/]|$)/;

/** One line for each file that differs. */
export function differences(fresh, committed, output) {
  return changes(fresh, committed, output).map(({ file, kind }) => `${kind} generated/${file}`);
}

/** Deletes stale files, and writes only changed files, so that builds stay valid. Returns the number of changes. */
export function update(fresh, committed, output) {
  const changed = changes(fresh, committed, output);
  for (const { file, kind } of changed) {
    const target = join(committed, file);
    if (kind === 'stale') {
      rmSync(target);
    } else {
      mkdirSync(dirname(target), { recursive: true });
      writeFileSync(target, readFileSync(join(fresh, file)));
    }
  }
  return changed.length;
}

function changes(fresh, committed, output) {
  const wanted = files(fresh, output);
  const present = new Set(files(committed, output));
  const differing = wanted
    .filter((file) => !present.has(file) || !same(join(fresh, file), join(committed, file)))
    .map((file) => ({ file, kind: present.has(file) ? 'changed' : 'missing' }));
  const known = new Set(wanted);
  const stale = [...present].filter((file) => !known.has(file)).map((file) => ({ file, kind: 'stale' }));
  return [...differing, ...stale];
}

function same(one, other) {
  return readFileSync(one).equals(readFileSync(other));
}

/** The files of `root/output`, which is a file or a folder, relative to `root`. */
function files(root, output) {
  const stat = statSync(join(root, output), { throwIfNoEntry: false });
  if (stat === undefined) return [];
  if (stat.isFile()) return [output];
  return readdirSync(join(root, output), { recursive: true })
    .filter((file) => !leftovers.test(file) && statSync(join(root, output, file)).isFile())
    .map((file) => join(output, file));
}
