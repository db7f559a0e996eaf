import { mismatch } from '../../../clients/conformance/kit/matching';

describe('the comparison of values in a case', () => {
  it.each([
    [{ a: 1 }, { a: 1, b: 2 }],
    [
      [1, '*'],
      [1, 2],
    ],
    [{ a: null }, {}],
    [{ min: 1, max: 3 }, 3],
    [{ not: 'x' }, 'y'],
    [{ any: ['x', 'y'] }, 'y'],
    [{ items: 2 }, [1, 2]],
    [{ contains: 'expired' }, 'Certificate Expired'],
    [{ a: { b: '*' } }, { a: { b: false } }],
  ])('finds that %j matches %j', (expected, value) => {
    expect(mismatch(expected, value, new Map())).toBeUndefined();
  });

  it.each([
    [{ a: 1 }, { a: 2 }, 'a is 2, not 1'],
    [{ a: { b: 'x' } }, { a: {} }, 'a.b is absent, not "x"'],
    [[1], [1, 2], 'the value is [1,2], not [1]'],
    [{ a: null }, { a: 0 }, 'a is 0, not null'],
    ['*', undefined, 'the value is absent'],
    [{ min: 2 }, 1, 'the value is 1, not {"min":2}'],
    [{ max: 2 }, undefined, 'the value is absent, not {"max":2}'],
    [{ any: ['x'] }, 'y', 'the value is "y", not {"any":["x"]}'],
    [{ contains: 'x' }, 'y', 'the value is "y", not {"contains":"x"}'],
    [{ contains: 'x' }, undefined, 'the value is absent, not {"contains":"x"}'],
  ])('says how %j differs from %j', (expected, value, problem) => {
    expect(mismatch(expected, value, new Map())).toBe(problem);
  });

  it('remembers a value, and then matches only this value', () => {
    const remembered = new Map<string, unknown>();
    expect(mismatch({ id: '$r' }, { id: 'x' }, remembered)).toBeUndefined();
    expect(mismatch({ id: '$r' }, { id: 'y' }, remembered)).toMatch(/which is "x"/);
    expect(mismatch({ id: { not: '$r' } }, { id: 'y' }, remembered)).toBeUndefined();
    expect(mismatch({ id: { not: '$r' } }, { id: 'x' }, remembered)).toMatch(/not/);
  });

  it('remembers nothing of a value that does not match', () => {
    const remembered = new Map<string, unknown>();
    expect(mismatch({ id: '$r', kind: 'a' }, { id: 'x', kind: 'b' }, remembered)).toMatch(/kind/);
    expect(remembered.size).toBe(0);
  });

  it('compares tokens that are greater than a number can be exactly', () => {
    const remembered = new Map<string, unknown>([['$t', '9007199254740992']]);
    expect(mismatch({ above: '$t' }, '9007199254740993', remembered)).toBeUndefined();
    expect(mismatch({ above: '$t' }, '9007199254740992', remembered)).toMatch(/not/);
  });
});
