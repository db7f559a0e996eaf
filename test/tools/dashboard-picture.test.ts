import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pagePicture, panelPicture } from '../../tools/dashboard/picture';
import { unitText } from '../../tools/dashboard/units';
import { ROOT } from '../support/root';

const SPAN = { startS: 1000, endS: 1100 };
const panel = (unit: string, noValue?: string) => ({
  title: 'Calls & waits',
  description: 'All < 1.',
  fieldConfig: { defaults: { unit, ...(noValue !== undefined && { noValue }) } },
});

test('draws a line from the first sample to the last, and breaks the line at a gap', () => {
  const points = [1000, 1010, 1020, 1090, 1100].map((at) => [at, at === 1100 ? 1 : 0] as const);
  const lines = panelPicture(panel('none'), [{ name: 'a', points }], SPAN).match(/points="[^"]*"/g);
  expect(lines).toEqual(['points="62.0,184.0 100.6,184.0 139.2,184.0"', 'points="409.4,184.0 448.0,44.0"']);
});

test('says why a panel is empty, and escapes the texts', () => {
  const picture = panelPicture(panel('s', 'No grants in this time'), [], SPAN);
  expect(picture).toContain('No grants in this time');
  expect(picture).toContain('Calls &amp; waits');
  expect(picture).toContain('All &lt; 1.');
  expect(pagePicture([picture])).toMatch(/^<svg [^>]*>\n<g [^>]*>\n[^]*<\/g>\n<\/svg>\n$/);
});

test('the legend has at most eight entries, and says how many are left out', () => {
  const series = Array.from({ length: 10 }, (_, index) => ({
    name: `n${index}`,
    points: [[1000, 1]] as const,
  }));
  const picture = panelPicture(panel('none'), series, SPAN);
  expect(picture).toContain('n6: 1');
  expect(picture).not.toContain('n7: 1');
  expect(picture).toContain('and 3 more');
});

test.each([
  [0.0254, 's', '25.4 ms'],
  [59.7, 's', '59.7 s'],
  [8_640_000, 's', '100 d'],
  [0, 'bytes', '0 B'],
  [3 * 2 ** 20, 'bytes', '3 MiB'],
  [0.111, 'ops', '0.111 ops/s'],
  [0.0613, 'percentunit', '6.13 %'],
  [6, 'none', '6'],
])('%d in the unit %s is %s', (value, unit, shown) => {
  expect(unitText(value, unit)).toBe(shown);
});

test('every unit of the dashboard has a text', () => {
  const { panels } = JSON.parse(readFileSync(join(ROOT, 'deploy/grafana/holdfast.json'), 'utf8')) as {
    panels: { fieldConfig: { defaults: { unit: string } } }[];
  };
  for (const { fieldConfig } of panels) expect(unitText(1, fieldConfig.defaults.unit)).toMatch(/^1/);
  expect(() => unitText(1, 'parsec')).toThrow('the unit "parsec" has no text');
});
