import { spreadOf, type MeasuredSpread, type Spread } from './statistics';

/** A number of a row, as it is stored and shown. */
export interface FigureSummary {
  readonly what: string;
  /** The unit: "µs", "ms", "×", "kB", or "" for a count. */
  readonly unit: string;
  readonly value: Spread;
  /** The bound that the number should keep. Undefined: the number has no goal. */
  readonly goal?: Goal;
  /** The number's place in a table of lines and columns. Undefined if the number has a line of its own. */
  readonly cell?: Cell;
  /** The text behind the number in its table. */
  readonly detail?: string;
  /** The text in place of the number. */
  readonly text?: string;
}

/** A number of a row, with its value in each round. */
export interface Figure extends FigureSummary {
  readonly value: MeasuredSpread;
}

export function summaryOf(figure: Figure): FigureSummary {
  const { median, low, high, rounds } = figure.value;
  return { ...figure, value: { median, low, high, rounds } };
}

export interface Cell {
  readonly table: string;
  readonly line: string;
  readonly column: string;
}

export type Goal = { readonly most: number } | { readonly least: number };

/** A number with a line of its own. */
export function figure(what: string, unit: string, value: number, goal?: Goal): Figure {
  return { what, unit, value: spreadOf([value]), ...(goal && { goal }) };
}

/** A number without a unit, a number or several numbers with unit and detail, or a text. "yes" counts as 1. */
type Column = number | string | readonly [value: number | readonly number[], unit: string, detail?: string];

/** A line of a table. An undefined column is left out. */
export function tableLine(
  table: string,
  line: string,
  columns: Readonly<Record<string, Column | undefined>>,
): Figure[] {
  return Object.entries(columns).flatMap(([column, content]): Figure[] => {
    if (content === undefined) return [];
    const place = { what: `${line}: ${column}`, cell: { table, line, column } };
    if (typeof content === 'string') {
      return [{ unit: '', value: spreadOf([content === 'yes' ? 1 : 0]), text: content, ...place }];
    }
    const [value, unit, detail] = typeof content === 'number' ? [content, ''] : content;
    const rounds = typeof value === 'number' ? [value] : value;
    return [{ unit, value: spreadOf(rounds), ...(detail && { detail }), ...place }];
  });
}

export interface Rounds {
  /** Rounds before the first measurement, for cold code and cold caches. */
  readonly warmUps: number;
  readonly rounds: number;
}

/** Takes the rounds one after the other, and puts the values of each figure together. Warm-ups do not count. */
export async function takeRounds(
  { warmUps, rounds }: Rounds,
  take: (index: number) => Promise<readonly Figure[]>,
): Promise<Figure[]> {
  const merged = new Map<string, Figure>();
  for (let index = 0; index < warmUps + rounds; index += 1) {
    const figures = await take(index);
    if (index < warmUps) continue;
    for (const one of figures) {
      const key = JSON.stringify([one.cell?.table, one.what]);
      const before = merged.get(key)?.value.values ?? [];
      merged.set(key, { ...one, value: spreadOf([...before, ...one.value.values]) });
    }
  }
  return [...merged.values()];
}
