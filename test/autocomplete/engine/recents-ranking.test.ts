import fc from 'fast-check';
import { rankRecents, suggestRecents } from '../../../src/autocomplete/recents';
import { MATCH_KINDS, type MatchKind, type Recent } from '../../../src/autocomplete/suggestion';
import { DictionaryModel } from '../../support/autocomplete/dictionary-model';
import { asExpected } from '../../support/autocomplete/dictionary-fixture';

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
    expect(textsOf([recent('anna', '1'), recent('ANNA')], '')).toEqual(['anna']);
  });

  it('join a recent without an entry id with the latest recent of the same text, and with no other recent', () => {
    const list = [recent('ANNA'), recent('anna', '1'), recent('Anna', '2')];
    const shown = suggestRecents(list, ask(''), 10).map(({ text, entryId }) => [text, entryId]);
    expect(shown).toEqual([
      ['ANNA', '1'],
      ['Anna', '2'],
    ]);
    const without = { text: 'ANNA', entryId: '', payload: new Uint8Array() };
    expect(suggestRecents([without, recent('anna', '1')], ask(''), 1)[0]?.payload).toEqual(payload);
  });

  it('show two recents with the same text and different entry ids', () => {
    expect(textsOf([recent('Anna', '1'), recent('anna', '2')], '')).toEqual(['Anna', 'anna']);
  });

  it('agree with the plain model for any list and query', () => {
    const model = new DictionaryModel({ accents: 'dropped', typos: true });
    const text = fc.string({ unit: fc.constantFrom('a', 'B', 'é', ' ', 'b'), minLength: 1, maxLength: 5 });
    const id = fc.constantFrom<string>('', '', '1', '2', '3');
    const lists = fc.array(
      fc.tuple(text, id).map(([name, entryId]) => recent(name, entryId)),
      { maxLength: 20 },
    );
    fc.assert(
      fc.property(lists, text, fc.subarray([...MATCH_KINDS]), (list, query, kinds) => {
        const shown = suggestRecents(list, ask(query, ...kinds), 1000);
        expect(shown.map(asExpected)).toEqual(model.suggest({ query, kinds, recents: list }));
      }),
      { numRuns: 2000 },
    );
  });
});
