import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { applyPatch, type Patch } from './build-variant';
import { ROOT } from './root';

const TOOL = pathToFileURL(join(ROOT, 'tools', 'embed-scripts.mjs')).href;
/** A program of its own, because a test cannot run `import()`. */
const PROGRAM = `
  import { readFileSync } from 'node:fs';
  import { embeddedScripts } from '${TOOL}';
  const changed = new Map(JSON.parse(readFileSync(0, 'utf8')));
  try {
    const texts = [...embeddedScripts((path) => changed.get(path) ?? readFileSync(path, 'utf8'))];
    console.log(JSON.stringify({ texts }));
  } catch ({ message }) {
    console.log(JSON.stringify({ message }));
  }`;

/** The embedded text of each script by the name of its constant, after patches of Lua files. Throws the error of the build. */
export function embeddedAfter(patches: readonly Patch[]): ReadonlyMap<string, string> {
  const changed = new Map<string, string>();
  for (const patch of patches) {
    const path = join(ROOT, patch.file);
    changed.set(path, applyPatch(changed.get(path) ?? readFileSync(path, 'utf8'), patch));
  }
  const output = execFileSync(process.execPath, ['--input-type=module', '--eval', PROGRAM], {
    input: JSON.stringify([...changed]),
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  const { texts, message } = JSON.parse(output) as { texts?: [string, string][]; message?: string };
  if (texts === undefined) throw new Error(message);
  return new Map(texts);
}
