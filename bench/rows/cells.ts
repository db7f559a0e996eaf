import { spreadOf } from '../support/statistics';
import type { Figure } from './row';

/** The cells of a line in a table. */
export class Cells {
  readonly figures: Figure[] = [];

  constructor(
    private readonly table: string,
    private readonly line: string,
  ) {}

  /** Adds a number of one round, or of several rounds. */
  add(column: string, value: number | readonly number[], unit = '', detail = ''): this {
    const rounds = typeof value === 'number' ? [value] : value;
    const figure = { unit, value: spreadOf(rounds), ...this.place(column) };
    this.figures.push(detail === '' ? figure : { ...figure, detail });
    return this;
  }

  /** Adds a text in place of a number. The number is 1 for "yes". */
  say(column: string, text: string): this {
    this.figures.push({ unit: '', value: spreadOf([text === 'yes' ? 1 : 0]), text, ...this.place(column) });
    return this;
  }

  private place(column: string) {
    return { what: `${this.line}: ${column}`, cell: { table: this.table, line: this.line, column } };
  }
}
