import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Patch } from '../../../support/build-variant';
import { ROOT } from '../../../support/root';

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
    const path = join(ROOT, 'src', 'redis', 'scripts', 'leases', 'shared', 'state.lua');
    const found = readFileSync(path, 'utf8').matchAll(/^local ([A-Z_]+) = (KEYS\[\d+\]|\d+)/gm);
    known = new Map([...found].map(([, name = '', value = '']) => [name, value]));
  }
  return known;
}
