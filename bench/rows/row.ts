import type { Figure, FigureSummary } from '../support/figures';

/** The numbers of the command line that are not given have their defaults. */
export interface RowContext {
  /** Whether the rounds are fewer and shorter, for a trial that stores no results. */
  readonly quick: boolean;
  /** Prints the progress. */
  readonly say: (text: string) => void;
  /** The numbers of entries of dictionaries, in ascending order. */
  readonly sizes?: readonly number[];
  /** Some attacks of the row `overload`. */
  readonly attacks?: readonly string[];
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
  picture?(figures: readonly FigureSummary[]): string;
  run(context: RowContext): Promise<readonly Figure[] | Skipped>;
}
