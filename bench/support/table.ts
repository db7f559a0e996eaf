import type { Figure } from '../rows/row';
import { shownGoal, shownMedian, shownSpread } from './numbers';

export const COLUMNS = ['figure', 'median', 'middle half', 'goal'] as const;

export function cellsOf(figure: Figure): string[] {
  return [figure.what, shownMedian(figure), shownSpread(figure), shownGoal(figure)];
}

/** For a terminal: columns side by side, numbers to the right. */
export function textTable(figures: readonly Figure[]): string {
  const lines = [[...COLUMNS], ...figures.map(cellsOf)];
  const widths = COLUMNS.map((_, column) => Math.max(...lines.map((cells) => (cells[column] ?? '').length)));
  return lines
    .map((cells) =>
      cells
        .map((cell, column) => {
          const width = widths[column] ?? 0;
          return column === 1 || column === 2 ? cell.padStart(width) : cell.padEnd(width);
        })
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

export function markdownTable(figures: readonly Figure[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(COLUMNS), line(['---', '---:', '---:', '---']), ...figures.map(cellsOf).map(line)].join('\n');
}
