import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Patch } from '../../../support/build-variant';
import { ROOT } from '../../../support/root';

const SCRIPTS = 'generated/redis/scripts.js';

/** A change of the Lua in all scripts. Write lines without indentation and comments, with the names of the sources. */
export function luaPatch(find: string, replace: string): Patch {
  return { file: SCRIPTS, find: embedded(find), replace: embedded(replace) };
}

/** Converts Lua to its form in the built file: a JavaScript string with the values of the constants. */
function embedded(lua: string): string {
  const inlined = lua.replace(/(?<!')\b[A-Z][A-Z_]+\b(?!')/g, (name) => constants().get(name) ?? name);
  return JSON.stringify(inlined).slice(1, -1);
}

let known: ReadonlyMap<string, string> | undefined;

function constants(): ReadonlyMap<string, string> {
  if (known === undefined) {
    const path = join(ROOT, 'src', 'redis', 'scripts', 'leases', 'shared', 'state.lua');
    const found = readFileSync(path, 'utf8').matchAll(/^local ([A-Z_]+) = (KEYS\[\d+\]|\d+)/gm);
    known = new Map([...found].map(([, name = '', value = '']) => [name, value]));
  }
  return known;
}
