import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../../support/root';

/** One exact change of a built file; where the text is not found, the mutant is out of date and says so. */
export interface Patch {
  /** From dist/. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

/** Replaces every place where the text is found; of a script's prelude there is one in each script that uses it. */
export function applyPatch(text: string, { file, find, replace }: Patch): string {
  const parts = text.split(find);
  if (parts.length === 1)
    throw new Error(`dist/${file} has nowhere the text that a mutant replaces:\n${find}`);
  return parts.join(replace);
}

const SCRIPTS = 'generated/redis/scripts.js';

/** A change of the Lua in all scripts; lines without indentation and comments, names as the sources have them. */
export function luaPatch(find: string, replace: string): Patch {
  return { file: SCRIPTS, find: embedded(find), replace: embedded(replace) };
}

/** As it stands in the built file: a JavaScript string, in which the prelude's constants have become their values. */
function embedded(lua: string): string {
  const inlined = lua.replace(/(?<!')\b[A-Z][A-Z_]+\b(?!')/g, (name) => constants().get(name) ?? name);
  return JSON.stringify(inlined).slice(1, -1);
}

let known: ReadonlyMap<string, string> | undefined;

function constants(): ReadonlyMap<string, string> {
  if (known === undefined) {
    const path = join(ROOT, 'src', 'redis', 'scripts', 'prelude', 'permits', 'state.lua');
    const found = readFileSync(path, 'utf8').matchAll(/^local ([A-Z_]+) = (KEYS\[\d+\]|\d+)/gm);
    known = new Map([...found].map(([, name = '', value = '']) => [name, value]));
  }
  return known;
}
