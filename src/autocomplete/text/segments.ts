import { fold } from './fold';
import { typoMatch, wordPrefixAt } from './match';
import type { MatchKind, Profile, Segment } from '../suggestion';

const ASCII = /^[\0-\x7f]*$/;
/**
 * Texts of these characters only: Latin, Greek and Cyrillic letters with their accents, Hebrew and Arabic letters, signs,
 * kana, Chinese characters and Hangul syllables. Each UTF-16 unit is a grapheme cluster, so no slow segmenter is needed.
 */
const SINGLE_UNITS =
  /^[\0-\u02ff\u0370-\u0482\u048a-\u052f\u05d0-\u05ea\u0621-\u063a\u0641-\u064a\u1e00-\u1fff\u2010-\u2027\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff\uac00-\ud7a3]*$/;
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

/** A text, and its folded form. */
export interface FoldedText {
  readonly text: string;
  readonly folded: string;
}

/**
 * Splits a text into matched and unmatched segments. `query` is folded. The kind decides the matched part: the whole text, its
 * beginning, the first word start, its end, the first occurrence, or the nearest beginning for a typo. Nothing is
 * matched if only an alias matches by that kind, or if the query is empty. The segments concatenate to the text; none
 * is empty, and neighbours differ in `matched`. A grapheme cluster is never divided: a cluster that matches in part
 * is matched.
 */
export function segments(
  { text, folded }: FoldedText,
  query: string,
  kind: MatchKind,
  accents: Profile['accents'],
): Segment[] {
  const found = query === '' ? undefined : spanIn(folded, query, kind);
  if (found === undefined) return [{ text, matched: false }];
  const { from, to } = inOriginal(text, folded, found, accents);
  const parts: Segment[] = [];
  if (from > 0) parts.push({ text: text.slice(0, from), matched: false });
  if (to > from) parts.push({ text: text.slice(from, to), matched: true });
  if (to < text.length) parts.push({ text: text.slice(to), matched: false });
  return parts;
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
  const inUnits = SINGLE_UNITS.test(text) ? inOriginalUnits(text, folded, span, accents) : undefined;
  if (inUnits) return inUnits;
  const pieces = piecesOf(text, folded, accents);
  // A piece that folds to nothing is matched only between matched pieces, or at a matched end of the text.
  const first = span.from === 0 ? 0 : pieces.findIndex(({ foldedEnd }) => foldedEnd > span.from);
  const last =
    span.to === folded.length ? pieces.length - 1 : pieces.findIndex(({ foldedEnd }) => foldedEnd >= span.to);
  return { from: pieces[first - 1]?.end ?? 0, to: pieces[last]?.end ?? text.length };
}

/** The same range if each UTF-16 unit is a piece. Undefined: the folded units together are not the folded text. */
function inOriginalUnits(
  text: string,
  folded: string,
  span: Span,
  accents: Profile['accents'],
): Span | undefined {
  let from = span.from === 0 ? 0 : undefined;
  let to: number | undefined;
  let foldedEnd = 0;
  for (let unit = 0; unit < text.length; unit += 1) {
    const foldedUnit = foldUnit(text.charCodeAt(unit), accents);
    if (!folded.startsWith(foldedUnit, foldedEnd)) return undefined;
    foldedEnd += foldedUnit.length;
    if (from === undefined && foldedEnd > span.from) from = unit;
    if (to === undefined && foldedEnd >= span.to) to = unit + 1;
  }
  if (foldedEnd !== folded.length || from === undefined || to === undefined) return undefined;
  return { from, to: span.to === folded.length ? text.length : to };
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
  return Array.from(clusters.segment(text), ({ segment }) => segment);
}

/** The folded forms of single UTF-16 units, because folding a text takes ten times as long as a look-up. */
const foldedUnits: Readonly<Record<Profile['accents'], (string | undefined)[]>> = { kept: [], dropped: [] };

function foldUnit(unit: number, accents: Profile['accents']): string {
  return (foldedUnits[accents][unit] ??= fold(String.fromCharCode(unit), accents));
}

function foldCharacter(character: string, accents: Profile['accents']): string {
  return character.length > 1 ? fold(character, accents) : foldUnit(character.charCodeAt(0), accents);
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
