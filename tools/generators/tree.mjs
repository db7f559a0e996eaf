// Compares new output with the committed files, and updates them.

import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Files that builds of the stubs leave beside them. */
const leftovers = /(^|[\\/])(__pycache__|target|build|[^\\/]+\.egg-info)([\\/]|$)/;

/** One line for each difference in a file or folder. */
export function differences(fresh, committed, output) {
  return changes(fresh, committed, output).map(({ file, kind }) => `${kind} generated/${file}`);
}

/** Writes changed files only, so builds stay up to date, and deletes stale files. Returns the number of changes. */
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
