import { escapeText } from '../base/text';

export interface Column<T> {
  readonly title: string;
  readonly value: (row: T) => string;
  readonly isNumber?: boolean;
  /** The column gives up width first if the terminal is too narrow. */
  readonly mayShrink?: boolean;
  /** A list of pages leaves the column out until a row has a value. */
  readonly isOnlyIfUsed?: boolean;
}

export interface Screen {
  /** Undefined: the output is no terminal, and no value is cut. */
  readonly columns: number | undefined;
  readonly outHasColour: boolean;
}

const GAP = 2;
/** A column does not become narrower than this. */
const LEAST_WIDTH = 8;

/** The lines of a table. On a terminal, values that do not fit are cut, and end with "…". */
export function table<T>(
  rows: readonly T[],
  columns: readonly Column<T>[],
  screen: Screen,
  hasTitles = true,
): string[] {
  const cells = rows.map((row) => columns.map(({ value }) => escapeText(value(row))));
  const titles = columns.map(({ title }) => title);
  const widths = columns.map((_, i) =>
    Math.max(...[titles, ...cells].map((line) => textWidth(line[i] ?? ''))),
  );
  if (screen.columns !== undefined) shrink(widths, columns, screen.columns);
  const line = (values: readonly string[]) =>
    values
      .map((value, i) => pad(cut(value, widths[i] ?? 0), widths[i] ?? 0, columns[i]?.isNumber === true))
      .join(' '.repeat(GAP))
      .trimEnd();
  const head = hasTitles ? [bold(line(titles), screen)] : [];
  return [...head, ...cells.map(line)];
}

/** Lines "title  value" of one thing. */
export function fields(pairs: readonly (readonly [title: string, value: string | undefined])[]): string[] {
  const shown = pairs.filter((pair): pair is readonly [string, string] => pair[1] !== undefined);
  const width = Math.max(0, ...shown.map(([title]) => title.length));
  return shown.map(([title, value]) => `${title.padEnd(width + GAP)}${escapeText(value)}`.trimEnd());
}

function shrink<T>(widths: number[], columns: readonly Column<T>[], wanted: number): void {
  const total = () => widths.reduce((sum, width) => sum + width, GAP * (widths.length - 1));
  const order = [...columns.keys()].filter((i) => columns[i]?.mayShrink);
  while (total() > wanted) {
    const widest = order.reduce<number | undefined>(
      (best, i) => (best === undefined || (widths[i] ?? 0) > (widths[best] ?? 0) ? i : best),
      undefined,
    );
    if (widest === undefined || (widths[widest] ?? 0) <= LEAST_WIDTH) return;
    widths[widest] = Math.max(LEAST_WIDTH, (widths[widest] ?? 0) - 1);
  }
}

const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;

/** The columns of a text in a terminal: marks need none, East Asian characters and emoji need two. */
export function textWidth(text: string): number {
  let width = 0;
  for (const char of text) width += /\p{M}/u.test(char) ? 0 : WIDE.test(char) ? 2 : 1;
  return width;
}

function cut(text: string, width: number): string {
  if (textWidth(text) <= width) return text;
  let kept = '';
  for (const char of text) {
    if (textWidth(kept + char) > width - 1) break;
    kept += char;
  }
  return `${kept}…`;
}

function pad(text: string, width: number, isNumber: boolean): string {
  const space = ' '.repeat(Math.max(0, width - textWidth(text)));
  return isNumber ? space + text : text + space;
}

function bold(text: string, { outHasColour }: Screen): string {
  return outHasColour ? `\u001b[1m${text}\u001b[22m` : text;
}
