import type { Spread } from '../support/statistics';

/** One number of a row, with what its rounds said. */
export interface Figure {
  readonly what: string;
  /** "µs", "ms", "×", "kB", "". */
  readonly unit: string;
  readonly value: Spread;
  /** Where it should be; none: for information. */
  readonly goal?: Goal;
  /** Where it stands in a table of lines and columns; none: on a line of its own. */
  readonly cell?: Cell;
  /** Said behind the number, in such a table. */
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
  /** Enough for now, while the goal is not met. */
  readonly bar?: number;
}

export interface RowContext {
  /** Fewer and shorter rounds: for a look, not for a result. */
  readonly quick: boolean;
  /** Tells what is going on. */
  readonly say: (text: string) => void;
}

/** Why a row was not measured here. */
export interface Skipped {
  readonly skipped: string;
}

export interface Row {
  /** How it is called on the command line, and in the results. */
  readonly name: string;
  readonly title: string;
  /** What is measured and how, for whoever reads the numbers. */
  readonly about: string;
  /** A picture of the figures (SVG), kept beside them. */
  picture?(figures: readonly Figure[]): string;
  run(context: RowContext): Promise<readonly Figure[] | Skipped>;
}
