import { countOverIssued } from '../../bench/chapter/over-issue';

const believed = (from: number, to: number, name = 'pool') => ({ name, from, to });

test('countOverIssued counts no grant within the limit', () => {
  const grants = [believed(0, 10), believed(5, 15), believed(10, 20), believed(15, 25)];
  expect(countOverIssued(grants, 2)).toBe(0);
});

test('countOverIssued counts each grant that is received while the limit is reached', () => {
  const grants = [believed(0, 100), believed(10, 20), believed(11, 20), believed(50, 60), believed(100, 110)];
  expect(countOverIssued(grants, 1)).toBe(3);
  expect(countOverIssued(grants, 2)).toBe(1);
});

test('countOverIssued does not depend on the order of its input', () => {
  expect(countOverIssued([believed(10, 20), believed(0, 15)], 1)).toBe(1);
});

test('countOverIssued ignores a grant that had ended before its receipt', () => {
  expect(countOverIssued([believed(0, 100), believed(10, 5)], 1)).toBe(0);
  expect(countOverIssued([believed(10, 5), believed(0, 100)], 1)).toBe(0);
});

test('countOverIssued counts each name separately', () => {
  expect(countOverIssued([believed(0, 10, 'first'), believed(5, 15, 'second')], 1)).toBe(0);
});
