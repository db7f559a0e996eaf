// Converts a counterexample of TLC to readable steps, with one line per changed field.

/**
 * Reads the states of TLC's output as steps `{ action, changes }`. A change is "field: before -> after".
 * @param {string} output
 */
export function steps(output) {
  const found = [];
  let before;
  for (const block of output.split(/\nState \d+: </).slice(1)) {
    const action = block.match(/^\w+/)[0];
    const text = block.slice(block.indexOf('\n') + 1).split('\n\n')[0];
    const after = fields(text);
    const changes = [];
    for (const path of before ? new Set([...before.keys(), ...after.keys()]) : []) {
      const [oldValue, newValue] = [before.get(path) ?? 'none', after.get(path) ?? 'none'];
      if (oldValue !== newValue) changes.push(`${path}: ${oldValue} -> ${newValue}`);
    }
    found.push({ action: before ? action : 'Start', changes });
    before = after;
  }
  return found;
}

/** Maps the path of each field of a state to its value, for example "node.A.d.l.st" -> "H". A set is a single value. */
function fields(text) {
  const all = new Map();
  for (const assignment of `\n${text}`.split(/\n\/\\ /).slice(1)) {
    const [name, value] = assignment.split(/ = ([^]*)/);
    flatten(name, parse(value), all);
  }
  return all;
}

function flatten(path, value, all) {
  if (value instanceof Map) for (const [key, inner] of value) flatten(`${path}.${key}`, inner, all);
  else all.set(path, value);
}

/** Converts records and functions to maps. All other values stay text. */
function parse(text) {
  const tokens = text.match(/<<|>>|\|->|:>|@@|"[^"]*"|[[\]{}(),]|-?\w+/g);
  let at = 0;
  const list = (end) => {
    const items = [];
    for (at += 1; tokens[at] !== end;) {
      if (tokens[at] === ',') at += 1;
      else items.push(value());
    }
    at += 1;
    return items;
  };
  const pairs = (end, arrow, next) => {
    const map = new Map();
    for (at += 1; tokens[at] !== end;) {
      if (tokens[at] === next) at += 1;
      const key = shown(value());
      if (tokens[at] !== arrow)
        throw new Error(`cannot read a state of TLC at ${tokens.slice(at, at + 5).join(' ')}`);
      at += 1;
      map.set(key, value());
    }
    at += 1;
    return map;
  };
  const value = () => {
    switch (tokens[at]) {
      case '[':
        return pairs(']', '|->', ',');
      case '(':
        return pairs(')', ':>', '@@');
      case '{':
        return `{${list('}').map(shown).join(', ')}}`;
      case '<<':
        return list('>>').map(shown).join('/');
      default:
        return tokens[at++].replaceAll('"', '');
    }
  };
  return value();
}

function shown(value) {
  if (!(value instanceof Map)) return value;
  return `[${[...value].map(([key, inner]) => `${key} ${shown(inner)}`).join(', ')}]`;
}
