import { fold } from './fold';
import { wordPrefixAt } from './match';
import type { MatchKind, Profile, Segment } from './suggestion';
import { typoMatch } from './typo';

const ASCII = /^[\0-\x7f]*$/;
/** Making one costs more than using it a thousand times. It is the same for every locale that splits by clusters. */
const clusters = new Intl.Segmenter('und', { granularity: 'grapheme' });

/** A place in a text: UTF-16 units from its beginning. */
interface Span {
  readonly from: number;
  readonly to: number;
}

/** A piece of a text that folds by itself, and where it and its folded form end. */
interface Piece {
  readonly end: number;
  readonly foldedEnd: number;
}

/**
 * Which part of a text is shown as matched by a query, by the kind of the suggestion: all of it, its beginning, the
 * first word start, its end, the first occurrence, or what comes nearest to a query with a typo. Nothing if the text
 * itself does not match by that kind (an alias did), or if the query is empty. The segments concatenate to the text;
 * none is empty, and no two neighbours are of one sort. A character as people see it is never divided: partly matched
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

/** Where the folded query stands in the folded text. */
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

/** Of the text before it was folded, all characters of which the span has some. */
function inOriginal(text: string, folded: string, span: Span, accents: Profile['accents']): Span {
  if (ASCII.test(text)) return span;
  const pieces = piecesOf(text, folded, accents);
  // What folds to nothing stands between its neighbours, or belongs to the end of the text that it is at.
  const first = span.from === 0 ? 0 : pieces.findIndex(({ foldedEnd }) => foldedEnd > span.from);
  const last =
    span.to === folded.length ? pieces.length - 1 : pieces.findIndex(({ foldedEnd }) => foldedEnd >= span.to);
  return { from: pieces[first - 1]?.end ?? 0, to: pieces[last]?.end ?? text.length };
}

/** The text in pieces that fold one by one to what they fold to together. */
function piecesOf(text: string, folded: string, accents: Profile['accents']): readonly Piece[] {
  const characters = Array.from(clusters.segment(text), ({ segment }) => segment);
  const each = pieces(characters, (character) => fold(character, accents));
  if (each.folded === folded) return each.ends;
  const composed = pieces(compose(characters, accents), (piece) => fold(piece, accents));
  if (composed.folded === folded) return composed.ends;
  // Never seen; the text as one piece is right whatever Unicode may still bring.
  return [{ end: text.length, foldedEnd: folded.length }];
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

/** Neighbours made one that fold to another thing together than apart: single Hangul letters form a syllable. */
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
