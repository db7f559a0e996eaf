import fc from 'fast-check';
import { Policy, type PolicyRule } from '../../src/access/policy';

/** Places of names that may be read, for lists that pass over all other names. */

function permissions(rules: Readonly<Record<string, boolean>>) {
  const policy = new Policy(
    Object.entries(rules).map(([name, isAllowed]): PolicyRule => ({
      identities: ['token:a'],
      services: ['LockService'],
      names: [name],
      allow: isAllowed ? ['read'] : ['use'],
    })),
  ).permissionsOf('token:a');
  return {
    mayRead: (name: string) => policy.allows('LockService', 'read', name),
    next: (name: string) => policy.nextReadable('LockService', name),
  };
}

const compare = (one: string, other: string) => Buffer.compare(Buffer.from(one), Buffer.from(other));

test('the next place lies shortly before the next allowed prefix', () => {
  const { next } = permissions({ 'billing/': true, 'ops/': true });
  expect(next('a')).toBe('billing.\u{10FFFF}');
  expect(next('billing0')).toBe('ops.\u{10FFFF}');
  expect(next('opt')).toBeUndefined();
});

test('the next place lies behind a denied prefix among allowed names', () => {
  const { next } = permissions({ '': true, 'secret/': false, 'secret/public/': true });
  expect(next('secret/a')).toBe('secret/public.\u{10FFFF}');
  expect(next('secret/q')).toBe('secret/\u{10FFFF}');
});

test('no place follows without a rule', () => {
  expect(permissions({}).next('')).toBeUndefined();
  expect(permissions({ 'a/': false }).next('')).toBeUndefined();
});

test('no readable name lies between an unreadable name and its next place, and the place is not before the name', () => {
  const unit = fc.constantFrom('a', 'b', '/', '\u0000', '\uD7FF', '\uE000', '\uFFFF', '😀', '\u{10FFFF}');
  const text = fc.string({ unit, maxLength: 5 });
  fc.assert(
    fc.property(
      fc.dictionary(text, fc.boolean(), { maxKeys: 6 }),
      fc.array(text, { minLength: 5, maxLength: 12 }),
      (rules, texts) => {
        const { mayRead, next } = permissions(rules);
        const prefixes = Object.keys(rules);
        const names = [...texts, ...prefixes, ...prefixes.flatMap((one) => texts.map((rest) => one + rest))];
        const readable = names.filter(mayRead);
        for (const name of names.filter((one) => !mayRead(one))) {
          const place = next(name);
          if (place !== undefined) expect(compare(place, name)).toBeGreaterThanOrEqual(0);
          const missed = readable.filter(
            (one) => compare(one, name) > 0 && (place === undefined || compare(one, place) <= 0),
          );
          expect(missed).toEqual([]);
        }
      },
    ),
    { numRuns: 300 },
  );
});
