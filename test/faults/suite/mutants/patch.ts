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

/** A change of the Lua in all scripts, as they are embedded: lines without indentation and comments. */
export function luaPatch(find: string, replace: string): Patch {
  return { file: SCRIPTS, find: embedded(find), replace: embedded(replace) };
}

/** As the text stands in a JavaScript string. */
function embedded(lua: string): string {
  return JSON.stringify(lua).slice(1, -1);
}
