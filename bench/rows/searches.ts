import { readVersion } from '../../src/base/redis-address';
import { between, type Random } from '../../test/support/random';
import { peers, type PeerName } from '../peers';
import type { Ability } from '../peers/peer';
import type { Figure } from '../support/figures';
import { library, type Library } from '../support/library';
import { abilityLine, type Yardstick } from '../support/yardsticks';
import { inside, misspelt, suffix, typed, wordPrefix, type Texts } from '../words/queries';
import { compareWithMarkers } from './markers';
import type { Row } from './row';
import { measureSearches, type SearchGroup } from './search';

/** Queries of random lengths. */
function ofLengths(
  least: number,
  most: number,
  query: (random: Random, texts: Texts, length: number) => string,
) {
  return (random: Random, texts: Texts, amount: number): string[] =>
    Array.from({ length: amount }, () => query(random, texts, between(random, least, most)));
}

const PREFIXES: SearchGroup = {
  title: 'prefixes of 1 to 8 letters',
  ask: 'prefix',
  kinds: ['prefix'],
  queries: (random, texts, amount) => typed(random, texts, amount, 8),
  isCheap: true,
};
const ALL_KINDS: SearchGroup = {
  title: 'all kinds, 1 to 12 letters as typed',
  kinds: [],
  queries: (random, texts, amount) => typed(random, texts, amount, 12),
};
const WORD_PREFIXES: SearchGroup = {
  title: 'beginnings of words of 2 to 6 letters',
  ask: 'word prefix',
  kinds: ['prefix', 'word-prefix'],
  queries: ofLengths(2, 6, wordPrefix),
};
const SUBSTRINGS: SearchGroup = {
  title: '2 to 6 letters from within',
  ask: 'contains',
  kinds: ['contains'],
  queries: ofLengths(2, 6, inside),
};
const SUFFIXES: SearchGroup = {
  title: 'the last 2 to 6 letters',
  ask: 'suffix',
  kinds: ['suffix'],
  queries: ofLengths(2, 6, suffix),
};
const TYPOS: SearchGroup = {
  title: '4 to 12 letters, 1 typo',
  ask: 'typo',
  kinds: ['prefix', 'typo'],
  queries: ofLengths(4, 12, (random, texts, length) => misspelt(random, texts, length, 1)),
};
const TWO_TYPOS: SearchGroup = {
  title: '8 to 12 letters, 2 typos',
  ask: 'typo',
  kinds: ['prefix', 'typo'],
  queries: ofLengths(8, 12, (random, texts, length) => misspelt(random, texts, length, 2)),
};

/** The groups by which the cost of a query is measured in dictionaries of all sizes. */
export const USUAL_GROUPS: readonly SearchGroup[] = [PREFIXES, ALL_KINDS, SUBSTRINGS, TYPOS];

const HOLDFAST: Yardstick<Ability> = {
  title: 'Holdfast',
  abilities: {
    prefix: 'yes',
    'word prefix': 'yes',
    suffix: 'yes',
    contains: 'yes',
    typo: 'yes',
    'best by weight': 'yes',
    'later pages': 'yes',
    'a write is seen at once': 'yes',
  },
};

/** A table of what each system can do, with the versions of the systems that this machine has. */
async function abilities(place: Library): Promise<Figure[]> {
  const table = 'What each system can answer';
  const figures = abilityLine(table, HOLDFAST, readVersion());
  for (const name of Object.keys(peers) as PeerName[]) {
    const started = await place.peers.get(name);
    const version = 'missing' in started ? 'not on this machine' : started.version;
    figures.push(...abilityLine(table, peers[name], version));
  }
  return figures;
}

export const prefix: Row = {
  name: 'prefix',
  title: 'Suggest for the first letters of a text or of a word',
  about:
    'Suggest for the first letters of existing words and names, typed letter by letter, and for the first letters of a ' +
    'word in a name. Yardsticks: an empty unary call, as in `unary`; other systems with the same entries and queries; and ' +
    'the chapter’s completion, which puts two markers into a sorted set of the same names, reads the names between them, ' +
    'and starts again if another client has written.',
  run: async (context) => {
    const place = await library(context.say);
    const searched = await measureSearches([PREFIXES, ALL_KINDS, WORD_PREFIXES], context);
    return [...(await compareWithMarkers(place, context)), ...searched, ...(await abilities(place))];
  },
};

export const substring: Row = {
  name: 'substring',
  title: 'Suggest for letters from within a text, and for its last letters',
  about:
    'Suggest for letters from within existing words and names, and for their last letters, compared with other systems with ' +
    'the same entries and queries.',
  run: (context) => measureSearches([SUBSTRINGS, SUFFIXES], context),
};

export const typo: Row = {
  name: 'typo',
  title: 'Suggest for the first letters of a text with typos',
  about:
    'Suggest for the first letters of existing words and names with one or two random typos: an additional letter, a ' +
    'missing letter, a wrong letter, or two swapped letters, never the first letter. Other systems allow typos in whole ' +
    'words, or only one typo.',
  run: (context) => measureSearches([TYPOS, TWO_TYPOS], context),
};
