import { between } from '../../test/support/random';
import { inside, suffix } from '../words/queries';
import type { Row } from './row';
import { measureSearches, type SearchGroup } from './search';

export const SUBSTRINGS: SearchGroup = {
  title: '2 to 6 letters from within',
  ask: 'contains',
  kinds: ['contains'],
  queries: (random, texts, amount) =>
    Array.from({ length: amount }, () => inside(random, texts, between(random, 2, 6))),
};

const SUFFIXES: SearchGroup = {
  title: 'the last 2 to 6 letters',
  ask: 'suffix',
  kinds: ['suffix'],
  queries: (random, texts, amount) =>
    Array.from({ length: amount }, () => suffix(random, texts, between(random, 2, 6))),
};

export const substring: Row = {
  name: 'substring',
  title: 'Suggest for letters from within a text, and for its last letters',
  about:
    'Suggest for letters from within existing words and names, and for their last letters, compared with other systems with ' +
    'the same entries and queries.',
  run: (context) => measureSearches([SUBSTRINGS, SUFFIXES], context),
};
