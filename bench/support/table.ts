import type { FigureSummary } from './figures';

interface Table {
  /** The first line holds the column titles. */
  readonly lines: readonly (readonly string[])[];
  /** Whether a column is aligned to the right. */
  readonly isNumber: (column: number) => boolean;
}

/** Tables for a terminal. */
export function textTable(figures: readonly FigureSummary[]): string {
  return tablesOf(figures).map(asText).join('\n\n');
}

export function markdownTable(figures: readonly FigureSummary[]): string {
  return tablesOf(figures).map(asMarkdown).join('\n\n');
}

function tablesOf(figures: readonly FigureSummary[]): Table[] {
  const titles = new Set(figures.flatMap(({ cell }) => cell?.table ?? []));
  const single = figures.filter(({ cell }) => cell === undefined);
  const grids = [...titles].map((title) => gridOf(title, figures));
  return single.length === 0 ? grids : [listOf(single), ...grids];
}

/** A table with a line for each figure. */
function listOf(figures: readonly FigureSummary[]): Table {
  const cellsOf = (figure: FigureSummary) => [
    figure.what,
    median(figure),
    middleHalf(figure),
    judged(figure),
  ];
  const heads = ['figure', 'median', 'middle half', 'goal'];
  return { lines: [heads, ...figures.map(cellsOf)], isNumber: (column) => column === 1 || column === 2 };
}

function gridOf(title: string, figures: readonly FigureSummary[]): Table {
  const byLine = new Map<string, Map<string, string>>();
  const columns = new Set<string>();
  for (const figure of figures) {
    if (figure.cell?.table !== title) continue;
    const { line, column } = figure.cell;
    columns.add(column);
    const cells = byLine.get(line) ?? new Map<string, string>();
    byLine.set(line, cells.set(column, [median(figure), figure.detail].filter(Boolean).join(' ')));
  }
  const lines = [...byLine].map(([line, cells]) => [
    line,
    ...[...columns].map((column) => cells.get(column) ?? ''),
  ]);
  return { lines: [[title, ...columns], ...lines], isNumber: (column) => column > 0 };
}

function asText({ lines, isNumber }: Table): string {
  const widths = lines[0]?.map((_, column) => Math.max(...lines.map((line) => (line[column] ?? '').length)));
  const asLine = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => {
        const width = widths?.[column] ?? 0;
        return isNumber(column) ? cell.padStart(width) : cell.padEnd(width);
      })
      .join('  ')
      .trimEnd();
  return lines.map(asLine).join('\n');
}

function asMarkdown({ lines: [heads = [], ...lines], isNumber }: Table): string {
  const asLine = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const rule = heads.map((_, column) => (isNumber(column) ? '---:' : '---'));
  return [heads, rule, ...lines].map(asLine).join('\n');
}

/** The number with three significant digits. */
function shown(value: number): string {
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 100) return Math.round(value).toLocaleString('en');
  return value.toFixed(size >= 10 ? 1 : size >= 1 ? 2 : 3);
}

function withUnit(value: number, unit: string): string {
  return unit === '' ? shown(value) : `${shown(value)} ${unit}`;
}

export function median({ value, unit, text }: FigureSummary): string {
  return text ?? withUnit(value.median, unit);
}

function middleHalf({ value }: FigureSummary): string {
  return value.rounds < 2 ? '' : `${shown(value.low)} to ${shown(value.high)}`;
}

/** The goal and whether the number meets the goal, such as "≤ 1.15 ×: met". */
export function judged({ value: { median }, unit, goal }: FigureSummary): string {
  if (goal === undefined) return '';
  const [sign, bound] = 'most' in goal ? ['≤', goal.most] : ['≥', goal.least];
  const isMet = 'most' in goal ? median <= bound : median >= bound;
  return `${sign} ${withUnit(bound, unit)}: ${isMet ? 'met' : 'not met'}`;
}
