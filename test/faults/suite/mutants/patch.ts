import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { EMBEDDED, LIBRARY_LINES, type Patch, SCRIPT_LINES } from '../../../support/build-variant';
import { ROOT } from '../../../support/root';

/**
 * A change of the Lua of operations, in their library and in their scripts. The lines have no indentation and no comments, and
 * use the names of the sources. Calls of rare functions are written as in the scripts.
 */
export function luaPatch(find: string, replace: string): readonly Patch[] {
  const ofLibrary = (lua: string) => embedded(lua.replaceAll('rare().', ''), { hasKeys: false });
  return [
    { file: EMBEDDED, lines: LIBRARY_LINES, find: ofLibrary(find), replace: ofLibrary(replace) },
    scriptPatch(find, replace),
  ];
}

/** A change of the Lua in all scripts only, for scripts that are no operations. */
export function scriptPatch(find: string, replace: string): Patch {
  return { file: EMBEDDED, lines: SCRIPT_LINES, find: embedded(find), replace: embedded(replace) };
}

/**
 * Converts Lua to its form in the generated file, which is a string of JavaScript with the values of the constants. The keys of a
 * library are variables.
 */
function embedded(lua: string, { hasKeys = true } = {}): string {
  const { constants, letters } = sources();
  const text = lua
    .replace(/\brequest\b(?:\.(\w+))?/g, (_, name?: string) =>
      name ? `r.${letters.get(name) ?? name}` : 'r',
    )
    .replace(/\{[^{}]*\}/g, (table) => table.replace(/\w+(?= = )/g, (name) => letters.get(name) ?? name))
    .replace(/(?<!')\b[A-Z][A-Z_]+\b(?!')/g, (name) => {
      const value = constants.get(name) ?? name;
      return value.startsWith('KEYS') && !hasKeys ? name : value;
    });
  return JSON.stringify(text).slice(1, -1);
}

interface Sources {
  readonly constants: ReadonlyMap<string, string>;
  readonly letters: ReadonlyMap<string, string>;
}

let known: Sources | undefined;

function sources(): Sources {
  if (known === undefined) {
    const text = readFileSync(join(ROOT, 'src/leases/scripts/shared/layout.lua'), 'utf8');
    const found = text.matchAll(/^local ([A-Z_]+) = (KEYS\[\d+\]|\d+|'\w')/gm);
    const fields = text.matchAll(/^-- @field (\w) (\w+)/gm);
    known = {
      constants: new Map([...found].map(([, name = '', value = '']) => [name, value])),
      letters: new Map([...fields].map(([, letter = '', name = '']) => [name, letter])),
    };
  }
  return known;
}
