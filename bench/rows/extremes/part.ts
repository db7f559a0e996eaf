import type { Figure, RowContext } from '../row';

export interface PartContext extends RowContext {
  /** The length of a part that runs for a time (s). */
  readonly seconds: number;
}

/** A question of the row, which can be measured alone. */
export interface Part {
  /** The name on the command line. */
  readonly name: string;
  run(context: PartContext): Promise<Figure[]>;
}
