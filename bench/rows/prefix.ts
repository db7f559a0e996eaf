import { between } from '../../test/support/random';
import { library } from '../support/library';
import { typed, wordPrefix } from '../words/queries';
import { compareWithMarkers } from './markers';
import type { Row } from './row';
import { measureSearches, type SearchGroup } from './search';
import { abilityFigures } from './search-figures';

export const PREFIXES: SearchGroup = {
  title: 'prefixes of 1 to 8 letters',
  ask: 'prefix',
  kinds: ['prefix'],
  queries: (random, texts, amount) => typed(random, texts, amount, 8),
  isCheap: true,
};

export const ALL_KINDS: SearchGroup = {
  title: 'all kinds, 1 to 12 letters as typed',
  kinds: [],
  queries: (random, texts, amount) => typed(random, texts, amount, 12),
};

const WORD_PREFIXES: SearchGroup = {
  title: 'beginnings of words of 2 to 6 letters',
  ask: 'word prefix',
  kinds: ['prefix', 'word-prefix'],
  queries: (random, texts, amount) =>
    Array.from({ length: amount }, () => wordPrefix(random, texts, between(random, 2, 6))),
};

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
    const markers = await compareWithMarkers(place, context);
    return [...markers, ...searched, ...abilityFigures(place.peers.versions)];
  },
};
