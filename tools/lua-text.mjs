// What tools/embed-scripts.mjs and tools/script-library.mjs do to the text of Lua.

/** A function at the outermost level, with the line `-- @rare` before it. Its other lines are indented, up to a line `end`. */
export const FUNCTION = /^(?:-- @rare\n)?local function (\w+)\((?:.* end|[^]*?\nend)\n/gm;

/**
 * Leaves out the shared functions that the script does not reach. Lua calls only functions that are declared before, so one
 * look from the last function to the first is enough.
 */
export function withoutUnused(shared, own) {
  const functions = [...shared.matchAll(FUNCTION)];
  let [text, at, kept] = [compact(own), shared.length, ''];
  for (const { 0: lua, 1: name, index } of functions.reverse()) {
    const between = shared.slice(index + lua.length, at);
    text += compact(between);
    const isUsed = new RegExp(`(?<![.\\w])${name}\\b`).test(text);
    if (isUsed) text += compact(lua);
    kept = (isUsed ? lua : '') + between + kept;
    at = index;
  }
  return shared.slice(0, at) + kept;
}

export function withoutComments(lua) {
  return lua.replace(/^[^\S\n]*--.*$/gm, '').replace(/[^\S\n]+-- .*$/gm, '');
}

/** Removes comments and indentation, because Redis keeps the text of every script in memory. */
export function compact(lua) {
  const lines = withoutComments(lua).split('\n');
  return lines
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join('\n');
}

/** Maps the name of each field that a `-- @field` line declares to its stored letter. */
export const fieldLetters = (lua) =>
  new Map([...lua.matchAll(/^-- @field (\w) (\w+)/gm)].map(([, letter, name]) => [name, letter]));

export function shortenFields(lua, letters) {
  if (letters.size === 0) return lua;
  const letterOf = (name) => {
    if (!letters.has(name)) throw new Error(`no -- @field line declares request.${name}`);
    return letters.get(name);
  };
  return lua
    .replace(/\brequest\b(?:\.(\w+))?/g, (_, name) => (name ? `r.${letterOf(name)}` : 'r'))
    .replace(/\{[^{}]*\}/g, (table) => table.replace(/\w+(?= = )/g, (name) => letters.get(name) ?? name));
}

/** Replaces each constant by its value. A word in quotes is no constant. */
export function inlineConstants(lua) {
  const constant = /^local ([A-Z_]+) = (KEYS\[\d+\]|\d+|'\w')\n/gm;
  return [...lua.matchAll(constant)].reduce(
    (text, [, name, value]) => text.replace(new RegExp(`(?<!')\\b${name}\\b(?!')`, 'g'), value),
    lua.replace(constant, ''),
  );
}
