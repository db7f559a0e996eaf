import { COMMON_FOLDINGS, FULL_FOLDINGS } from './case-folding-table';

const COMMON = /^(\w+)(?:-(\w+)(?:\/(\w))?)?([+-]\w+)$/;

/** What each code point becomes that does not stay as it is, as characters. */
const foldings: ReadonlyMap<string, string> = new Map([...commonFoldings(), ...fullFoldings()]);

/** Nearly all text has none of them in most places, and this finds the next one without a look at each. */
const changing = new RegExp(`[${[...foldings.keys()].join('')}]`, 'gu');

/**
 * Full case folding of Unicode 17, which JavaScript has no function for: toLowerCase keeps ß, depends on what stands
 * around a Σ, and on the Unicode version of the Node it runs on. It is a table of our own because folded texts are
 * stored: no other Node may fold them in another way.
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
