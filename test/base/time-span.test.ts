import { roundedTimeSpan, timeSpan } from '../../src/base/text';

it.each([
  [0, '0 ms'],
  [99.999999, '99.999999 ms'],
  [100, '100 ms'],
  [1500, '1.5 s'],
  [1501, '1501 ms'],
  [30_000, '30 s'],
  [-5000, '-5 s'],
  [120_000, '2 min'],
  [120_001, '120001 ms'],
  [86_400_000, '24 h'],
])('timeSpan shows %d ms exactly as %s', (ms, text) => {
  expect(timeSpan(ms)).toBe(text);
});

it.each([
  [-3, '0 ms'],
  [0.4, '0 ms'],
  [400.2, '400 ms'],
  [4812, '4.8 s'],
  [9999, '10 s'],
  [61_234.5, '61 s'],
  [723_000, '12 min'],
  [3_599_000, '1 h'],
])('roundedTimeSpan shows %d ms as %s', (ms, text) => {
  expect(roundedTimeSpan(ms)).toBe(text);
});
