import { Work } from '../../../../src/autocomplete/index/work';

describe('the work of a search', () => {
  it('stops when the bound is reached, and stays stopped', () => {
    const work = new Work(10);
    expect([work.spend(9.5), work.spend(0.5), work.spend(0)]).toEqual([true, false, false]);
    expect(work.spent).toBe(10);
  });

  it('never stops without a bound', () => {
    expect(new Work().spend(1e12)).toBe(true);
  });

  it('stops immediately if it was cancelled before, and within 1000 steps if it is cancelled later', () => {
    const flag = new Int32Array(new SharedArrayBuffer(4));
    const work = new Work(Infinity, flag);
    expect(work.spend(1)).toBe(true);
    Atomics.store(flag, 0, 1);
    expect(work.spend(1000)).toBe(false);
    expect(new Work(Infinity, flag).spend(1)).toBe(false);
  });

  it('keeps its bound if it has a cancel flag too', () => {
    const work = new Work(1500, new Int32Array(new SharedArrayBuffer(4)));
    expect([work.spend(1000), work.spend(499), work.spend(1)]).toEqual([true, true, false]);
  });
});
