import {
  matchKindToJSON,
  type MatchKind,
  type Segment,
  type Suggestion,
} from '../../generated/typescript/holdfast/v1/autocomplete_service';
import { charactersOf } from './typed-line';

/** The content of the screen. */
export interface Picture {
  readonly typed: string;
  readonly suggestions: readonly Suggestion[];
  /** The index of the suggestion that Enter picks. */
  readonly chosen: number;
  readonly status: string;
}

export interface Screen {
  readonly columns: number;
  readonly rows: number;
  readonly isColored: boolean;
}

const ESC = '\x1b[';
/** Turns line wrapping off. The terminal then cuts long lines, because only the terminal knows the character widths. */
export const ENTER_SCREEN = `${ESC}?7l`;
export const LEAVE_SCREEN = `${ESC}?7h`;
const CLEAR_BELOW = `\r${ESC}J`;
const HIDE_CURSOR = `${ESC}?25l`;
const SHOW_CURSOR = `${ESC}?25h`;

const PROMPT = '> ';
/** The greatest width of a character, in columns. */
const MAX_CHARACTER_WIDTH = 2;
const KIND_WIDTH = 'word prefix'.length;

/** The name of a match kind without the prefix of the enum: `word prefix`. */
export function kindText(kind: MatchKind): string {
  return matchKindToJSON(kind).replace('MATCH_KIND_', '').toLowerCase().replace('_', ' ');
}

/** The text with the matches in colour, or in brackets on a screen without colour. */
export function highlighted(segments: readonly Segment[], isColored: boolean): string {
  const [on, off] = isColored ? [`${ESC}1;32m`, `${ESC}0m`] : ['[', ']'];
  return segments.map(({ text, matched }) => (matched && text !== '' ? `${on}${text}${off}` : text)).join('');
}

/** The typed text, or its end if the whole text may not fit. */
function visibleText(typed: string, columns: number): string {
  const characters = charactersOf(typed);
  const room = Math.max(1, Math.floor((columns - PROMPT.length - 1) / MAX_CHARACTER_WIDTH));
  return characters.length <= room ? typed : `…${characters.slice(-room + 1).join('')}`;
}

/** The aligned columns come first and are ASCII. The text comes last, because its width is unknown. */
function row({ matchKind, recent, segments }: Suggestion, isChosen: boolean, isColored: boolean): string {
  const kind = kindText(matchKind).padEnd(KIND_WIDTH);
  return `${isChosen ? '>' : ' '} ${kind} ${recent ? '*' : ' '} ${highlighted(segments, isColored)}`;
}

/** The number of suggestions that fit. A line that has scrolled off the screen cannot be replaced. */
export function roomFor(rows: number): number {
  return Math.max(0, rows - 3);
}

/** Replaces the previous picture, and leaves the cursor after the typed text. */
export function draw({ typed, suggestions, chosen, status }: Picture, screen: Screen): string {
  const { columns, rows, isColored } = screen;
  const line = `${PROMPT}${visibleText(typed, columns)}`;
  const shown = suggestions.slice(0, roomFor(rows));
  const below = [
    ...shown.map((suggestion, index) => row(suggestion, index === chosen, isColored)),
    dim(status, isColored),
  ];
  const up = `${ESC}${below.length}A\r`;
  return [HIDE_CURSOR, CLEAR_BELOW, [line, ...below].join('\r\n'), up, line, SHOW_CURSOR].join('');
}

/** A line that stays above the next picture. */
export function permanentLine(text: string): string {
  return `${CLEAR_BELOW}${text}\r\n`;
}

export function eraseBelow(): string {
  return CLEAR_BELOW;
}

function dim(text: string, isColored: boolean): string {
  return isColored ? `${ESC}2m${text}${ESC}0m` : text;
}
