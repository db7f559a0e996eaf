import { fold } from './fold';
import { wordPrefixAt } from './match';
import type { MatchKind, Profile, Segment } from './suggestion';
import { typoMatch } from './typo';

const ASCII = /^[\0-\x7f]*$/;
/**
 * Texts of these characters only: Latin, Greek and Cyrillic letters with their accents, signs, kana, Chinese characters and
 * Hangul syllables. Each UTF-16 unit is a grapheme cluster, so no slow segmenter is needed.
 */
const SINGLE_UNITS =
  /^[\0-\u02ff\u0370-\u0482\u048a-\u052f\u1e00-\u1fff\u2010-\u2027\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff\uac00-\ud7a3]*$/;
/** Created once, because the creation takes long. Grapheme clusters do not depend on the locale. */
const clusters = new Intl.Segmenter('und', { granularity: 'grapheme' });

/** A range of a text, in UTF-16 units. */
interface Span {
  readonly from: number;
  readonly to: number;
}

/** The ends of a piece and of its folded form. The fold of a piece does not depend on other pieces. */
interface Piece {
  readonly end: number;
  readonly foldedEnd: number;
}

/**
 * Splits a text into matched and unmatched segments. The kind decides the matched part: the whole text, its
 * beginning, the first word start, its end, the first occurrence, or the nearest beginning for a typo. Nothing is
 * matched if only an alias matches by that kind, or if the query is empty. The segments concatenate to the text; none
 * is empty, and neighbours differ in `matched`. A grapheme cluster is never divided: a cluster that matches in part
 * is matched.
 */
export function segments(
  text: string,
  query: string,
  kind: MatchKind,
  accents: Profile['accents'],
): Segment[] {
  const folded = fold(text, accents);
  const typed = fold(query, accents);
  const found = typed === '' ? undefined : spanIn(folded, typed, kind);
  if (found === undefined) return split(text, { from: 0, to: 0 });
  return split(text, inOriginal(text, folded, found, accents));
}

function split(text: string, { from, to }: Span): Segment[] {
  return [
    { text: text.slice(0, from), matched: false },
    { text: text.slice(from, to), matched: true },
    { text: text.slice(to), matched: false },
  ].filter((segment) => segment.text !== '');
}

/** The range of the folded query in the folded text. */
function spanIn(folded: string, query: string, kind: MatchKind): Span | undefined {
  const at = (from: number): Span | undefined => (from < 0 ? undefined : { from, to: from + query.length });
  switch (kind) {
    case 'exact':
      return folded === query ? at(0) : undefined;
    case 'prefix':
      return folded.startsWith(query) ? at(0) : undefined;
    case 'word-prefix':
      return at(wordPrefixAt(folded, query));
    case 'suffix':
      return folded.endsWith(query) ? at(folded.length - query.length) : undefined;
    case 'contains':
      return at(folded.indexOf(query));
    case 'typo': {
      const match = typoMatch(query, folded);
      return match && { from: 0, to: match.end };
    }
  }
}

/** The range in the original text: every piece that overlaps the folded span. */
function inOriginal(text: string, folded: string, span: Span, accents: Profile['accents']): Span {
  if (ASCII.test(text)) return span;
  const pieces = piecesOf(text, folded, accents);
  // A piece that folds to nothing is matched only between matched pieces, or at a matched end of the text.
  const first = span.from === 0 ? 0 : pieces.findIndex(({ foldedEnd }) => foldedEnd > span.from);
  const last =
    span.to === folded.length ? pieces.length - 1 : pieces.findIndex(({ foldedEnd }) => foldedEnd >= span.to);
  return { from: pieces[first - 1]?.end ?? 0, to: pieces[last]?.end ?? text.length };
}

/** Divides the text into pieces. The folded pieces together are equal to the folded text. */
function piecesOf(text: string, folded: string, accents: Profile['accents']): readonly Piece[] {
  const characters = charactersOf(text);
  const each = pieces(characters, (character) => foldCharacter(character, accents));
  if (each.folded === folded) return each.ends;
  const composed = pieces(compose(characters, accents), (piece) => fold(piece, accents));
  if (composed.folded === folded) return composed.ends;
  // No text is known for which both divisions fail. A single piece is correct for every text.
  return [{ end: text.length, foldedEnd: folded.length }];
}

function charactersOf(text: string): readonly string[] {
  if (SINGLE_UNITS.test(text)) return text.split('');
  return Array.from(clusters.segment(text), ({ segment }) => segment);
}

/** The folded forms of single UTF-16 units, because folding a text takes ten times as long as a look-up. */
const foldedUnits: Readonly<Record<Profile['accents'], (string | undefined)[]>> = { kept: [], dropped: [] };

function foldCharacter(character: string, accents: Profile['accents']): string {
  if (character.length > 1) return fold(character, accents);
  return (foldedUnits[accents][character.charCodeAt(0)] ??= fold(character, accents));
}

function pieces(
  texts: readonly string[],
  foldOne: (text: string) => string,
): { folded: string; ends: Piece[] } {
  let end = 0;
  let folded = '';
  const ends = texts.map((text) => {
    end += text.length;
    folded += foldOne(text);
    return { end, foldedEnd: folded.length };
  });
  return { folded, ends };
}

/** Joins neighbours that fold differently together than apart: single Hangul letters compose to a syllable. */
function compose(characters: readonly string[], accents: Profile['accents']): readonly string[] {
  const composed: string[] = [];
  for (const character of characters) {
    const before = composed.at(-1) ?? '';
    const apart = fold(before, accents) + fold(character, accents);
    if (before === '' || fold(before + character, accents) === apart) composed.push(character);
    else composed[composed.length - 1] = before + character;
  }
  return composed;
}
