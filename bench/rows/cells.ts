import type { Panel } from '../support/bar-chart';
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

/** A panel with a group of bars for each line of a table. A column that the table lacks has no bar. */
export function panelOf(
  figures: readonly Figure[],
  table: string,
  columns: readonly string[],
  axis: string,
): Panel {
  const shown = figures.filter(({ cell }) => cell?.table === table);
  const lines = [...new Set(shown.map(({ cell }) => cell?.line ?? ''))];
  const groups = lines.map((label) => {
    const ofLine = shown.filter(({ cell }) => cell?.line === label);
    const at = (column: string) => ofLine.find(({ cell }) => cell?.column === column)?.value.median;
    return { label, values: columns.map(at) };
  });
  return { axis, groups };
}
