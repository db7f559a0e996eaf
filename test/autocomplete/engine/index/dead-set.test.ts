import fc from 'fast-check';
import { isDead, NONE_DEAD, withDead } from '../../../../src/autocomplete/index/layer/layer';

const ranks = fc.array(fc.oneof(fc.nat(20), fc.nat(200_000), fc.constantFrom(32_767, 32_768)), {
  maxLength: 8,
});

describe('a dead set', () => {
  it('contains the added ranks and no others, and counts each rank once', () => {
    fc.assert(
      fc.property(fc.array(ranks, { maxLength: 5 }), ranks, (additions, others) => {
        const dead = additions.reduce(withDead, NONE_DEAD);
        const expected = new Set(additions.flat());
        expect(dead.count).toBe(expected.size);
        for (const rank of [...expected, ...others]) expect(isDead(dead, rank)).toBe(expected.has(rank));
      }),
    );
  });

  it('stays as it is when a larger set is made, and shares the pages without new ranks', () => {
    const first = withDead(NONE_DEAD, [1, 40_000]);
    const second = withDead(first, [2]);
    expect([isDead(first, 2), isDead(second, 2), isDead(second, 40_000)]).toEqual([false, true, true]);
    expect(second.pages[1]).toBe(first.pages[1]);
    expect(second.pages[0]).not.toBe(first.pages[0]);
  });

  it('is the same set if no rank is new', () => {
    const dead = withDead(NONE_DEAD, [5]);
    expect(withDead(dead, [5])).toBe(dead);
    expect(withDead(NONE_DEAD, [])).toBe(NONE_DEAD);
  });
});
