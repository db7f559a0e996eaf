import type { Spread } from '../support/statistics';

/** One number of a row, with the values of its rounds. */
export interface Figure {
  readonly what: string;
  /** "µs", "ms", "×", "kB", "". */
  readonly unit: string;
  readonly value: Spread;
  /** Undefined for a number without a goal. */
  readonly goal?: Goal;
  /** The number's place in a table of lines and columns. Undefined: a line of its own. */
  readonly cell?: Cell;
  /** Text behind the number, in such a table. */
  readonly detail?: string;
}

export interface Cell {
  readonly table: string;
  readonly line: string;
  readonly column: string;
}

export interface Goal {
  readonly most?: number;
  readonly least?: number;
  /** The bound that is enough for now, while the goal is not met. */
  readonly bar?: number;
}

export interface RowContext {
  /** Fewer and shorter rounds, as a trial without results. */
  readonly quick: boolean;
  /** Prints the progress. */
  readonly say: (text: string) => void;
}

/** The reason why a row was not measured. */
export interface Skipped {
  readonly skipped: string;
}

export interface Row {
  /** The name on the command line and in the results. */
  readonly name: string;
  readonly title: string;
  /** The description of the measurement, for readers of the results. */
  readonly about: string;
  /** Draws the figures as an SVG, which is stored beside them. */
  picture?(figures: readonly Figure[]): string;
  run(context: RowContext): Promise<readonly Figure[] | Skipped>;
}
