import { takeRounds } from '../../bench/support/rounds';

test('takeRounds leaves out the values of the warm-ups', async () => {
  const taken = await takeRounds({ warmUps: 2, rounds: 3 }, (index) => Promise.resolve(index));
  expect(taken).toEqual([2, 3, 4]);
});
