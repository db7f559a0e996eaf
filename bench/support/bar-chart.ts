import type { FigureSummary } from './figures';

/** A chart of grouped bars. */
interface BarChart {
  readonly title: string;
  readonly subtitle: string;
  /** The names of the bars of each group, in order, for the legend. */
  readonly series: readonly string[];
  readonly panels: readonly Panel[];
}

interface Panel {
  readonly axis: string;
  readonly groups: readonly Group[];
}

interface Group {
  readonly label: string;
  /** A value for each of the series. An undefined value has no bar. */
  readonly values: readonly (number | undefined)[];
}

const WIDTH = 1180;
const LEFT = 74;
const RIGHT = 16;
const HEAD = 92;
const PANEL = { height: 270, plotTop: 18, plotHeight: 205 };
const COLOURS = ['#9fb8d9', '#f2c57c', '#e0908a', '#a8cfa0', '#c3a6d4', '#b8b8b8'];
const INK = '#333333';
const LINE = '#dddddd';
const STEPS = 5;

/** A panel with a group of bars for each line of a table. A column that the table lacks has no bar. */
export function panelOf(
  figures: readonly FigureSummary[],
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

/** Draws the chart as an SVG. */
export function barChart({ title, subtitle, series, panels }: BarChart): string {
  const height = HEAD + panels.length * PANEL.height;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" ` +
      `font-family="Helvetica, Arial, sans-serif" fill="${INK}">`,
    `<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>`,
    text(LEFT, 28, title, { size: 19, weight: 'bold' }),
    text(LEFT, 50, subtitle, { size: 13 }),
    ...legendOf(series, 80),
    ...panels.flatMap((panel, index) => drawPanel(panel, HEAD + index * PANEL.height)),
    '</svg>\n',
  ].join('\n');
}

function drawPanel(panel: Panel, top: number): string[] {
  const bottom = top + PANEL.plotTop + PANEL.plotHeight;
  const most = ceiling(
    Math.max(0, ...panel.groups.flatMap(({ values }) => values.map((value) => value ?? 0))),
  );
  const heightOf = (value: number): number => (value / most) * PANEL.plotHeight;
  const groupWidth = (WIDTH - LEFT - RIGHT) / panel.groups.length;
  const middle = top + PANEL.plotTop + PANEL.plotHeight / 2;
  const grid = Array.from({ length: STEPS + 1 }, (_, step) => (most * step) / STEPS).flatMap((value) => {
    const y = bottom - heightOf(value);
    return [
      `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${place(y)}" y2="${place(y)}" stroke="${value === 0 ? INK : LINE}"/>`,
      text(LEFT - 8, y + 4, String(value), { size: 12, anchor: 'end' }),
    ];
  });
  return [
    ...grid,
    text(20, middle, panel.axis, { size: 13, anchor: 'middle', turned: true }),
    ...panel.groups.flatMap((group, index) =>
      groupOf(group, LEFT + index * groupWidth, groupWidth, bottom, heightOf),
    ),
  ];
}

function groupOf(
  { label, values }: Group,
  left: number,
  width: number,
  bottom: number,
  heightOf: (value: number) => number,
): string[] {
  const shown = values.flatMap((value, series) => (value === undefined ? [] : [{ value, series }]));
  const bar = (width * 0.86) / shown.length;
  const bars = shown.flatMap(({ value, series }, index) => {
    const x = left + width * 0.07 + index * bar;
    const y = bottom - heightOf(value);
    return [
      `<rect x="${place(x + 1)}" y="${place(y)}" width="${place(bar - 2)}" height="${place(heightOf(value))}" ` +
        `fill="${COLOURS[series % COLOURS.length]}"/>`,
      text(x + bar / 2, y - 4, value === 0 ? '0' : value.toFixed(value < 10 ? 1 : 0), {
        size: 11,
        anchor: 'middle',
      }),
    ];
  });
  return [...bars, text(left + width / 2, bottom + 20, label, { size: 12, anchor: 'middle' })];
}

function legendOf(series: readonly string[], y: number): string[] {
  let x = LEFT;
  return series.flatMap((name, index) => {
    const at = x;
    x += 34 + name.length * 7;
    return [
      `<rect x="${at}" y="${y - 11}" width="13" height="13" fill="${COLOURS[index % COLOURS.length]}"/>`,
      text(at + 19, y, name, { size: 13 }),
    ];
  });
}

/** The next number with round grid lines. */
function ceiling(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1)));
  return ([1, 2, 5, 10].find((factor) => factor * power >= value) ?? 10) * power;
}

interface Style {
  readonly size: number;
  readonly weight?: string;
  readonly anchor?: string;
  readonly turned?: boolean;
}

function text(x: number, y: number, content: string, { size, weight, anchor, turned }: Style): string {
  const attributes = [
    `x="${place(x)}" y="${place(y)}" font-size="${size}"`,
    weight && `font-weight="${weight}"`,
    anchor && `text-anchor="${anchor}"`,
    turned && `transform="rotate(-90 ${place(x)} ${place(y)})"`,
  ];
  const escaped = content.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  return `<text ${attributes.filter(Boolean).join(' ')}>${escaped}</text>`;
}

function place(value: number): string {
  return String(Math.round(value * 10) / 10);
}
