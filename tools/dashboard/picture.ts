import { unitText } from './units';

/** Panels of a dashboard as SVG: lines, an axis with three values, and a legend. Nothing depends on fonts or scripts. */

export interface Series {
  readonly name: string;
  /** Seconds since 1970, and the value. */
  readonly points: readonly (readonly [number, number])[];
}

/** The fields of Grafana that are drawn. `noValue` is shown in place of an empty plot. */
export interface DrawnPanel {
  readonly title: string;
  readonly description: string;
  readonly fieldConfig: { readonly defaults: { readonly unit: string; readonly noValue?: string } };
}

const WIDTH = 460;
const HEIGHT = 270;
const COLUMNS = 3;
const PLOT = { left: 62, right: 448, top: 44, bottom: 184 };
const LEGEND_COLUMNS = 2;
const LEGEND_ROWS = 4;
/** Colours that people with weak colour vision can tell apart. */
const COLOURS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#8a6d00', '#56b4e9', '#333333', '#e69f00'];
/** A gap between samples as long as this many median gaps breaks a line. */
const BREAK = 2.5;

export function panelPicture(
  panel: DrawnPanel,
  series: readonly Series[],
  span: { readonly startS: number; readonly endS: number },
): string {
  const { unit, noValue } = panel.fieldConfig.defaults;
  const head =
    text(8, 18, panel.title, 'font-size="14" font-weight="bold"') +
    text(8, 34, panel.description, 'font-size="10" fill="#555"');
  const frame = `<rect x="0.5" y="0.5" width="${WIDTH - 1}" height="${HEIGHT - 1}" fill="#fff" stroke="#ccc"/>`;
  if (series.length === 0)
    return frame + head + text(WIDTH / 2 - 90, 120, noValue ?? 'No data', 'fill="#555"');
  const top = roof(Math.max(...series.flatMap(({ points }) => points.map(([, value]) => value))), unit);
  const x = (at: number): number =>
    PLOT.left + ((at - span.startS) / (span.endS - span.startS)) * (PLOT.right - PLOT.left);
  const y = (value: number): number => PLOT.bottom - (value / top) * (PLOT.bottom - PLOT.top);
  const lines = series.map(({ points }, index) => polylines(points, x, y, colourOf(index)));
  return [frame, head, axis(top, unit, y), times(span, x), ...lines, legend(series, unit)].join('\n');
}

export function pagePicture(panels: readonly string[]): string {
  const rows = Math.ceil(panels.length / COLUMNS);
  const placed = panels.map((panel, index) => {
    const x = (index % COLUMNS) * WIDTH;
    return `<g transform="translate(${x} ${Math.floor(index / COLUMNS) * HEIGHT})">\n${panel}\n</g>`;
  });
  const size = `width="${WIDTH * COLUMNS}" height="${HEIGHT * rows}"`;
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size} font-family="sans-serif" font-size="11">\n${placed.join('\n')}\n</svg>\n`;
}

/** The next of 1, 2, 5, 10, 20 … above the values, or the next power of two for bytes; 1 if all values are 0. */
function roof(value: number, unit: string): number {
  if (value <= 0) return 1;
  if (unit === 'bytes') return 2 ** Math.ceil(Math.log2(value));
  const decade = 10 ** Math.floor(Math.log10(value));
  return decade * ([1, 2, 5].find((factor) => factor * decade >= value) ?? 10);
}

function polylines(
  points: Series['points'],
  x: (at: number) => number,
  y: (value: number) => number,
  colour: string,
): string {
  const times = points.map(([at]) => at);
  const gaps = times.slice(1).map((at, index) => at - (times[index] ?? at));
  const median = [...gaps].sort((a, b) => a - b)[Math.floor(gaps.length / 2)] ?? 0;
  const runs: string[][] = [];
  let run: string[] = [];
  points.forEach(([at, value], index) => {
    if (index === 0 || at - (times[index - 1] ?? at) > BREAK * median) runs.push((run = []));
    run.push(`${x(at).toFixed(1)},${y(value).toFixed(1)}`);
  });
  const style = `fill="none" stroke="${colour}" stroke-width="1.5" stroke-linecap="round"`;
  // A single point is a line of no length, which its round ends make visible.
  return runs
    .map((one) => `<polyline ${style} points="${(one.length === 1 ? [...one, ...one] : one).join(' ')}"/>`)
    .join('\n');
}

function axis(top: number, unit: string, y: (value: number) => number): string {
  return [0, top / 2, top]
    .map(
      (value) =>
        `<path d="M${PLOT.left} ${y(value)}H${PLOT.right}" stroke="#ddd"/>` +
        text(PLOT.left - 5, y(value) + 4, unitText(value, unit), 'text-anchor="end" fill="#555"'),
    )
    .join('');
}

function times({ startS, endS }: { startS: number; endS: number }, x: (at: number) => number): string {
  const at = [startS, (startS + endS) / 2, endS];
  const anchors = ['start', 'middle', 'end'];
  return at
    .map((one, index) =>
      text(
        x(one),
        PLOT.bottom + 14,
        new Date(one * 1000).toISOString().slice(11, 19),
        `text-anchor="${anchors[index]}" fill="#555"`,
      ),
    )
    .join('');
}

/** The names with their latest values. */
function legend(series: readonly Series[], unit: string): string {
  const bound = LEGEND_COLUMNS * LEGEND_ROWS;
  const shown = series.length > bound ? series.slice(0, bound - 1) : series;
  const entries = shown.map(({ name, points }, index) => {
    const value = unitText(points.at(-1)?.[1] ?? 0, unit);
    return { label: `${shortened(name)}: ${value}`, colour: colourOf(index) };
  });
  if (shown.length < series.length)
    entries.push({ label: `and ${series.length - shown.length} more`, colour: '#fff' });
  return entries
    .map(({ label, colour }, index) => {
      const x = 10 + (index % LEGEND_COLUMNS) * (WIDTH / LEGEND_COLUMNS);
      const y = PLOT.bottom + 32 + Math.floor(index / LEGEND_COLUMNS) * 15;
      return `<rect x="${x}" y="${y - 8}" width="10" height="8" fill="${colour}"/>${text(x + 14, y, label)}`;
    })
    .join('');
}

const shortened = (name: string): string => (name.length > 24 ? `${name.slice(0, 23)}…` : name);

const colourOf = (index: number): string => COLOURS[index % COLOURS.length] ?? '#333333';

function text(x: number, y: number, content: string, style = ''): string {
  const escaped = content.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" ${style}>${escaped}</text>`;
}
