import { COMMON_FOLDINGS, FULL_FOLDINGS } from './case-folding-table';

const COMMON = /^(\w+)(?:-(\w+)(?:\/(\w))?)?([+-]\w+)$/;

/** Every code point that folding changes, and its folded form. */
const foldings: ReadonlyMap<string, string> = new Map([...commonFoldings(), ...fullFoldings()]);

/** Finds the next character that folding changes. */
const changing = new RegExp(`[${[...foldings.keys()].join('')}]`, 'gu');

/**
 * Full case folding of Unicode 17. JavaScript has no such function: toLowerCase keeps ß, depends on the neighbours of
 * Σ, and changes with the Unicode version of Node. Folded texts are stored, so all versions of Node must fold alike.
 */
export function foldCase(text: string): string {
  return text.replace(changing, (character) => foldings.get(character) ?? character);
}

function* commonFoldings(): Generator<[string, string]> {
  for (const run of COMMON_FOLDINGS.trim().split(/\s+/)) {
    const [, first = '', last = first, step = '1', distance = ''] = COMMON.exec(run) ?? [];
    for (let from = parseInt(first, 16); from <= parseInt(last, 16); from += Number(step)) {
      yield [String.fromCodePoint(from), String.fromCodePoint(from + parseInt(distance, 16))];
    }
  }
}

function* fullFoldings(): Generator<[string, string]> {
  for (const folding of FULL_FOLDINGS.trim().split(/\s+/)) {
    const [from = '', to = ''] = folding.split(':');
    const characters = to.split('.').map((codePoint) => parseInt(codePoint, 16));
    yield [String.fromCodePoint(parseInt(from, 16)), String.fromCodePoint(...characters)];
  }
}
