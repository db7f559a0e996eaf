import fc from 'fast-check';
import { fold } from '../../../src/engine/autocomplete/fold';
import {
  rankRecents,
  SeenSuggestions,
  suggestRecents,
} from '../../../src/engine/autocomplete/recents-ranking';
import { MATCH_KINDS, type MatchKind, type Recent } from '../../../src/engine/autocomplete/suggestion';

const payload = Uint8Array.of(7);
const recent = (text: string, entryId = ''): Recent => ({ text, entryId, payload });
const ask = (query: string, ...kinds: MatchKind[]) =>
  ({ query, kinds, accents: 'dropped', typos: true }) as const;
const textsOf = (recents: readonly Recent[], query: string, ...kinds: MatchKind[]): string[] =>
  suggestRecents(recents, ask(query, ...kinds), 1000).map(({ text }) => text);

describe('suggestRecents and rankRecents', () => {
  it('sort matching recents by kind and ignore case (chapter 5)', () => {
    const list = [
      'Leanne',
      'Mary Anne',
      'Suzanne',
      'ANNE',
      'Bob',
      'anneliese',
      'Xann Ex',
      'Anen',
      'Joanne B',
    ];
    const found = suggestRecents(
      list.map((text) => recent(text)),
      ask('aNNe'),
      1000,
    );
    expect(found.map(({ text, kind }) => [text, kind])).toEqual([
      ['ANNE', 'exact'],
      ['anneliese', 'prefix'],
      ['Mary Anne', 'word-prefix'],
      ['Leanne', 'suffix'],
      ['Suzanne', 'suffix'],
      ['Joanne B', 'contains'],
      ['Anen', 'typo'],
    ]);
  });

  it('search a list of 1,000 recents to its end (chapter 5)', () => {
    const list = Array.from({ length: 1000 }, (_, n) => recent(`contact ${n}`));
    expect(textsOf(list, 'ACT 999')).toEqual(['contact 999']);
  });

  it('list all recents, the most recent first, for an empty query', () => {
    const list = [recent('b'), recent('c', 'id'), recent('a')];
    expect(textsOf(list, '')).toEqual(['b', 'c', 'a']);
    expect(textsOf(list, '', 'exact', 'typo')).toEqual([]);
    // When accents are dropped, a query of accents alone folds to the empty query.
    expect(textsOf(list, '\u0301')).toEqual(['b', 'c', 'a']);
  });

  it('return the matched segments, the payload of the recent, and a score of 0', () => {
    expect(suggestRecents([recent('Élan vital', 'e1')], ask('ela'), 10)).toEqual([
      {
        entryId: 'e1',
        text: 'Élan vital',
        segments: [
          { text: 'Éla', matched: true },
          { text: 'n vital', matched: false },
        ],
        payload,
        kind: 'prefix',
        score: 0,
        recent: true,
      },
    ]);
  });

  it('return the best suggestions up to the limit', () => {
    const list = [recent('x anna'), recent('anna'), recent('annabel')];
    expect(suggestRecents(list, ask('anna'), 2).map(({ text }) => text)).toEqual(['anna', 'annabel']);
  });

  it('match by the profile of the dictionary', () => {
    const list = [recent('Résumé'), recent('résumé 2'), recent('reusme')];
    const ranked = rankRecents(list, { query: 'resume', kinds: [], accents: 'kept', typos: true });
    expect(ranked.map(({ folded, kind }) => [folded, kind])).toEqual([['reusme', 'typo']]);
    expect(rankRecents(list, { query: 'resume', kinds: [], accents: 'kept', typos: false })).toEqual([]);
  });

  it('show recents with the same entry id once, and recents with the same text once if an entry id is missing', () => {
    expect(textsOf([recent('New name', '1'), recent('Old name', '1')], 'name')).toEqual(['New name']);
    expect(textsOf([recent('New name', '1'), recent('Old name', '1')], 'old')).toEqual([]);
    expect(textsOf([recent('ANNA'), recent('anna'), recent('Ánna')], '')).toEqual(['ANNA']);
    expect(textsOf([recent('ANNA', '1'), recent('anna')], '')).toEqual(['ANNA']);
    expect(textsOf([recent('ANNA'), recent('anna', '1'), recent('anna', '2')], '')).toEqual(['ANNA']);
  });

  it('show two recents with the same text and different entry ids', () => {
    expect(textsOf([recent('Anna', '1'), recent('anna', '2')], '')).toEqual(['Anna', 'anna']);
  });

  it('sort any list by match kind and recency, and show each recent once', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'B', 'é', ' ', 'b'), minLength: 1, maxLength: 5 });
    const id = fc.constantFrom<string>('', '', '1', '2', '3');
    const lists = fc.array(
      fc.tuple(text, id).map(([name, entryId]) => recent(name, entryId)),
      { maxLength: 20 },
    );
    fc.assert(
      fc.property(lists, text, fc.subarray([...MATCH_KINDS]), (list, query, kinds) => {
        const ranked = rankRecents(list, ask(query, ...kinds));
        const places = ranked.map(
          (item) => [MATCH_KINDS.indexOf(item.kind), list.indexOf(item.recent)] as const,
        );
        expect(places).toEqual([...places].sort(([a, b], [c, d]) => a - c || b - d));
        const shownBefore = new SeenSuggestions();
        for (const { recent: item, folded, kind } of ranked) {
          expect(folded).toBe(fold(item.text, 'dropped'));
          if (kinds.length > 0) expect(kinds).toContain(kind);
        }
        const inOrder = [...ranked].sort((a, b) => list.indexOf(a.recent) - list.indexOf(b.recent));
        for (const { recent: item, folded } of inOrder)
          expect(shownBefore.add(item.entryId, folded)).toBe(true);
        // A recent is left out only if it equals an earlier recent, or does not contain the query.
        if (kinds.length > 0 && !kinds.includes('contains')) return;
        const seen = new SeenSuggestions();
        const missing = list.filter((item) => {
          const isNew = seen.add(item.entryId, fold(item.text, 'dropped'));
          return isNew && !ranked.some((shown) => shown.recent === item);
        });
        for (const item of missing) {
          expect(fold(item.text, 'dropped')).not.toContain(fold(query, 'dropped'));
        }
      }),
      { numRuns: 2000 },
    );
  });
});
