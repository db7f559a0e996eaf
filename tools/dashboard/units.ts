/** Values in the units of Grafana that the dashboard uses. */

const SCALES: Readonly<Record<string, readonly (readonly [number, string])[]>> = {
  s: [
    [86_400, ' d'],
    [1, ' s'],
    [1e-3, ' ms'],
    [1e-6, ' µs'],
  ],
  bytes: [
    [2 ** 30, ' GiB'],
    [2 ** 20, ' MiB'],
    [2 ** 10, ' KiB'],
    [1, ' B'],
  ],
  ops: [
    [1000, 'K ops/s'],
    [1, ' ops/s'],
  ],
  percentunit: [[0.01, ' %']],
  none: [[1, '']],
};

/** Throws for a unit that this file does not know. */
export function unitText(value: number, unit: string): string {
  const scales = SCALES[unit];
  const base = scales?.find(([scale]) => scale === 1) ?? scales?.[0];
  if (scales === undefined || base === undefined) {
    throw new Error(`the unit "${unit}" has no text: add the unit to tools/dashboard/units.ts`);
  }
  if (value === 0) return `0${base[1]}`;
  const [scale, name] = scales.find(([size]) => Math.abs(value) >= size) ?? scales.at(-1) ?? base;
  const scaled = value / scale;
  const rounded = Math.abs(scaled) < 1000 ? Number(scaled.toPrecision(3)) : Math.round(scaled);
  return `${rounded}${name}`;
}
