import { between } from '../../test/support/random';
import { misspelt } from '../words/queries';
import type { Row } from './row';
import { measureSearches, type SearchGroup } from './search';

export const TYPOS: SearchGroup = {
  title: '4 to 12 letters, 1 typo',
  ask: 'typo',
  kinds: ['prefix', 'typo'],
  queries: (random, texts, amount) =>
    Array.from({ length: amount }, () => misspelt(random, texts, between(random, 4, 12), 1)),
};

const TWO_TYPOS: SearchGroup = {
  title: '8 to 12 letters, 2 typos',
  ask: 'typo',
  kinds: ['prefix', 'typo'],
  queries: (random, texts, amount) =>
    Array.from({ length: amount }, () => misspelt(random, texts, between(random, 8, 12), 2)),
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
