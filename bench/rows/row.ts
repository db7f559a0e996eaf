import type { Spread } from '../support/statistics';

/** A number of a row, with its value in each round. */
export interface Figure {
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

export interface Cell {
  readonly table: string;
  readonly line: string;
  readonly column: string;
}

export interface Goal {
  readonly most?: number;
  readonly least?: number;
  /** The bound that is accepted while the goal is not met. */
  readonly bar?: number;
}

export interface RowContext {
  /** Whether the rounds are fewer and shorter, for a trial that stores no results. */
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
  /** True: the row runs only if its name is given. */
  readonly onRequest?: true;
  /** Draws the figures as an SVG, which is stored beside them. */
  picture?(figures: readonly Figure[]): string;
  run(context: RowContext): Promise<readonly Figure[] | Skipped>;
}
