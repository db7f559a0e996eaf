import fc from 'fast-check';
import { fold } from '../../../src/autocomplete/text/fold';
import { kindOf, packForms, wantedKinds } from '../../../src/autocomplete/text/match';
import { segments } from '../../../src/autocomplete/text/segments';
import { MATCH_KINDS, type MatchKind, type Profile } from '../../../src/autocomplete/suggestion';
import { anyText, scriptText } from '../../support/autocomplete/dictionary-texts';

const clusters = new Intl.Segmenter('en', { granularity: 'grapheme' });
const withoutControls = (text: string): string => text.replace(/[\p{Cc}\ufffd]/gu, '');
const texts = fc.oneof(scriptText, anyText).map(withoutControls).filter(Boolean);
const accents = fc.constantFrom<Profile['accents']>('kept', 'dropped');
const kinds = fc.constantFrom(...MATCH_KINDS);

function segmentsOf(text: string, query: string, kind: MatchKind, how: Profile['accents']) {
  return segments({ text, folded: fold(text, how) }, fold(query, how), kind, how);
}

/** The text with the matched part in brackets. */
function shown(text: string, query: string, kind: MatchKind, how: Profile['accents'] = 'kept'): string {
  return segmentsOf(text, query, kind, how)
    .map((segment) => (segment.matched ? `[${segment.text}]` : segment.text))
    .join('');
}

describe('segments', () => {
  it.each<[string, string, MatchKind, string]>([
    ['Anna', 'anna', 'exact', '[Anna]'],
    ['Anna Ann', 'ann', 'prefix', '[Ann]a Ann'],
    ['Joann Anna Ann', 'ann', 'word-prefix', 'Joann [Ann]a Ann'],
    ['Ann Joann', 'ann', 'suffix', 'Ann Jo[ann]'],
    ['Ann Joann', 'n', 'contains', 'A[n]n Joann'],
    ['John Smith', 'jonh', 'typo', '[John] Smith'],
    ['Jonathan', 'jonnathan', 'typo', '[Jonathan]'],
    ['Fernando Alonso', 'fernadno a', 'typo', '[Fernando A]lonso'],
    ['Straße', 'STRASS', 'prefix', '[Straß]e'],
    ['Straße', 'sse', 'suffix', 'Stra[ße]'],
    ['eﬃcient', 'f', 'contains', 'e[ﬃ]cient'],
    ['Ｆｕｌｌ　Ｗｉｄｔｈ', 'wid', 'word-prefix', 'Ｆｕｌｌ　[Ｗｉｄ]ｔｈ'],
    ['東京タワー', 'ﾀﾜ', 'contains', '東京[タワ]ー'],
    ['ｶﾞﾗｽ', 'が', 'prefix', 'ｶﾞﾗｽ'],
    ['ｶﾞﾗｽ', 'ガ', 'prefix', '[ｶﾞ]ﾗｽ'],
    ['𝒳𝒴𐐀', '𐐨', 'suffix', '𝒳𝒴[𐐀]'],
    ['각나', '\u1102\u1161', 'suffix', '각[나]'],
    ['\u1100\u1161\u11a8나', '각', 'prefix', '[\u1100\u1161\u11a8]나'],
    ['ㄱㅏ나', '가', 'prefix', '[ㄱㅏ]나'],
    ['나ㄱㅏㅏ', '가', 'contains', '나[ㄱㅏ]ㅏ'],
    ['น้ำตก', 'ตก', 'suffix', 'น้ำ[ตก]'],
    ['กำ', 'ก', 'prefix', '[กำ]'],
    ['السلام عليكم', 'علي', 'word-prefix', 'السلام [علي]كم'],
    ['ﻻ إله', 'ل', 'prefix', '[ﻻ] إله'],
    ['Team 👩‍👩‍👧!', '👩', 'contains', 'Team [👩‍👩‍👧]!'],
    ['👍🏽 ok', '👍', 'prefix', '[👍🏽] ok'],
    ['🇩🇪🇫🇷', '🇫🇷', 'suffix', '🇩🇪[🇫🇷]'],
    ['e\u0323\u0301a', 'ẹ\u0301', 'prefix', '[e\u0323\u0301]a'],
  ])('of %s for the query %s (%s) are %s (chapter 10: any character)', (text, query, kind, expected) => {
    expect(shown(text, query, kind)).toBe(expected);
  });

  it('include the accents of a matched letter when accents are dropped', () => {
    expect(shown('Re\u0301sumé', 'resume', 'exact', 'dropped')).toBe('[Re\u0301sumé]');
    expect(shown('Re\u0301sumé', 'RÉ', 'prefix', 'dropped')).toBe('[Re\u0301]sumé');
    expect(shown('Việt Nam', 'vie', 'prefix', 'dropped')).toBe('[Việ]t Nam');
    expect(shown('Việt Nam', 'viet', 'prefix', 'kept')).toBe('Việt Nam');
    // A mark without a letter folds to nothing. A mark at the start of the text belongs to the match.
    expect(shown('\u0301語x', '語', 'prefix', 'dropped')).toBe('[\u0301語]x');
  });

  it('mark nothing as matched if only an alias matches, or if the query is empty', () => {
    for (const kind of MATCH_KINDS) {
      expect(segmentsOf('Germany', 'deutschland', kind, 'kept')).toEqual([
        { text: 'Germany', matched: false },
      ]);
      expect(segmentsOf('Germany', '', kind, 'kept')).toEqual([{ text: 'Germany', matched: false }]);
    }
    expect(shown('Germany', 'germ', 'exact')).toBe('Germany');
    expect(shown('Germany', 'many', 'prefix')).toBe('Germany');
    expect(shown('Germany', 'germ', 'word-prefix')).toBe('Germany');
    expect(shown('Germany', 'germ', 'suffix')).toBe('Germany');
  });

  it('join to the whole text, are not empty, alternate, and divide no grapheme cluster', () => {
    fc.assert(
      fc.property(texts, texts, kinds, accents, (text, query, kind, how) => {
        const parts = segmentsOf(text, query, kind, how);
        expect(parts.map((part) => part.text).join('')).toBe(text);
        expect(parts.every((part) => part.text !== '')).toBe(true);
        expect(parts.slice(1).every((part, n) => part.matched !== parts[n]!.matched)).toBe(true);
        const bounds = new Set(Array.from(clusters.segment(text), ({ index }) => index));
        let place = 0;
        for (const part of parts) {
          expect(bounds.has(place)).toBe(true);
          place += part.text.length;
        }
      }),
      { numRuns: 5000 },
    );
  });

  it('mark the smallest range of grapheme clusters that contains the query', () => {
    let found = 0;
    fc.assert(
      fc.property(texts, fc.nat(), fc.nat(), accents, (text, a, b, how) => {
        // The query is any part of the folded text.
        const all = [...fold(text, how)];
        const [from, to] = [a % (all.length + 1), b % (all.length + 1)].sort((x, y) => x - y);
        const query = fold(all.slice(from, to).join(''), how);
        const kind = kindOf(packForms([fold(text, how)]), query, wantedKinds([], false));
        if (query === '' || kind === undefined) return;
        found += 1;
        const parts = segmentsOf(text, query, kind, how);
        const matched = parts.filter((part) => part.matched);
        expect(matched).toHaveLength(1);
        expect(fold(matched[0]!.text, how)).toContain(query);
        // Without its first and its last cluster, the matched part does not contain the query.
        const characters = Array.from(clusters.segment(matched[0]!.text), ({ segment }) => segment);
        const inner = characters.slice(1, -1).join('');
        if (kind !== 'exact') expect(fold(inner, how).includes(query) && characters.length > 2).toBe(false);
      }),
      { numRuns: 5000 },
    );
    expect(found).toBeGreaterThan(2000);
  });
});

test('never divides a grapheme cluster, and divides simple texts as the segmenter of the language does', () => {
  const clusters = new Intl.Segmenter('und', { granularity: 'grapheme' });
  const text = fc.oneof(
    fc.string({
      unit: fc.constantFrom('é', 'ß', 'Ω', 'й', '東', 'カ', '한', 'א', 'ع', 'ل', 'a', ' ', '’', 'ﬁ', 'İ'),
      maxLength: 12,
    }),
    fc.string({ unit: 'grapheme', maxLength: 12 }),
  );
  fc.assert(
    fc.property(text, fc.nat(11), fc.nat(11), (shown, from, length) => {
      const query = shown.slice(from, from + length);
      const ends = new Set([0]);
      for (const { index, segment } of clusters.segment(shown)) ends.add(index + segment.length);
      let end = 0;
      for (const part of segmentsOf(shown, query, 'contains', 'kept')) {
        end += part.text.length;
        expect(ends).toContain(end);
      }
    }),
    { numRuns: 1000 },
  );
});
