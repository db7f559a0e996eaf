import { countOverIssued } from '../../bench/chapter/over-issue';

const believed = (from: number, to: number, name = 'pool') => ({ name, from, to });

test('as many at a time as the limit allows is not too many', () => {
  const grants = [believed(0, 10), believed(5, 15), believed(10, 20), believed(15, 25)];
  expect(countOverIssued(grants, 2)).toBe(0);
});

test('each grant that is received while the limit is reached counts', () => {
  const grants = [believed(0, 100), believed(10, 20), believed(11, 20), believed(50, 60), believed(100, 110)];
  expect(countOverIssued(grants, 1)).toBe(3);
  expect(countOverIssued(grants, 2)).toBe(1);
});

test('the order in which the accounts arrive does not matter', () => {
  expect(countOverIssued([believed(10, 20), believed(0, 15)], 1)).toBe(1);
});

test('a grant that was over when it was received was never believed', () => {
  expect(countOverIssued([believed(0, 100), believed(10, 5)], 1)).toBe(0);
  expect(countOverIssued([believed(10, 5), believed(0, 100)], 1)).toBe(0);
});

test('grants of different names do not touch each other', () => {
  expect(countOverIssued([believed(0, 10, 'first'), believed(5, 15, 'second')], 1)).toBe(0);
});
