import {
  matchKindToJSON,
  type MatchKind,
  type Segment,
  type Suggestion,
} from '../../generated/typescript/holdfast/v1/autocomplete_service';
import { charactersOf } from './typed-line';

/** Everything that is to be seen. */
export interface Picture {
  readonly typed: string;
  readonly suggestions: readonly Suggestion[];
  /** Which of them Enter picks. */
  readonly chosen: number;
  readonly status: string;
}

export interface Screen {
  readonly columns: number;
  readonly rows: number;
  readonly isColored: boolean;
}

const ESC = '\x1b[';
/** With wrapping off the terminal itself cuts what is too long: it alone knows how wide it draws a character. */
export const ENTER_SCREEN = `${ESC}?7l`;
export const LEAVE_SCREEN = `${ESC}?7h`;
const CLEAR_BELOW = `\r${ESC}J`;
const HIDE_CURSOR = `${ESC}?25l`;
const SHOW_CURSOR = `${ESC}?25h`;

const PROMPT = '> ';
/** No character is wider. */
const WIDEST = 2;
const KIND_WIDTH = 'word prefix'.length;

/** `word prefix`: the word of the contract, without the prefix of the enum. */
export function kindText(kind: MatchKind): string {
  return matchKindToJSON(kind).replace('MATCH_KIND_', '').toLowerCase().replace('_', ' ');
}

/** The text with what answers to the query in colour, or where there is none in brackets. */
export function highlighted(segments: readonly Segment[], isColored: boolean): string {
  const [on, off] = isColored ? [`${ESC}1;32m`, `${ESC}0m`] : ['[', ']'];
  return segments.map(({ text, matched }) => (matched && text !== '' ? `${on}${text}${off}` : text)).join('');
}

/** The end of what was typed, if all of it does not fit for certain. */
function visibleEnd(typed: string, columns: number): string {
  const characters = charactersOf(typed);
  const room = Math.max(1, Math.floor((columns - PROMPT.length - 1) / WIDEST));
  return characters.length <= room ? typed : `…${characters.slice(-room + 1).join('')}`;
}

/** What stands in columns comes first and is ASCII; the text, of whatever width, comes last. */
function row({ matchKind, recent, segments }: Suggestion, isChosen: boolean, isColored: boolean): string {
  const kind = kindText(matchKind).padEnd(KIND_WIDTH);
  return `${isChosen ? '>' : ' '} ${kind} ${recent ? '*' : ' '} ${highlighted(segments, isColored)}`;
}

/** How many suggestions fit. All must be on the screen at once: what has scrolled away cannot be drawn over. */
export function roomFor(rows: number): number {
  return Math.max(0, rows - 3);
}

/** Draws over the picture before, and leaves the cursor behind what was typed. */
export function draw({ typed, suggestions, chosen, status }: Picture, screen: Screen): string {
  const { columns, rows, isColored } = screen;
  const line = `${PROMPT}${visibleEnd(typed, columns)}`;
  const shown = suggestions.slice(0, roomFor(rows));
  const below = [...shown.map((one, index) => row(one, index === chosen, isColored)), dim(status, isColored)];
  const up = `${ESC}${below.length}A\r`;
  return [HIDE_CURSOR, CLEAR_BELOW, [line, ...below].join('\r\n'), up, line, SHOW_CURSOR].join('');
}

/** A line that stays, above the picture that is drawn next. */
export function keep(text: string): string {
  return `${CLEAR_BELOW}${text}\r\n`;
}

export function erase(): string {
  return CLEAR_BELOW;
}

function dim(text: string, isColored: boolean): string {
  return isColored ? `${ESC}2m${text}${ESC}0m` : text;
}
