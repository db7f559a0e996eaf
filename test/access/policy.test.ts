import fc from 'fast-check';
import { Policy, type PolicyRule } from '../../src/access/policy';
import { SERVICES, VERBS, type Verb } from '../../src/access/verbs';

function rule(values: Partial<PolicyRule>): PolicyRule {
  return { identities: ['token:a'], services: ['LockService'], names: ['a/'], allow: ['use'], ...values };
}

function allowed(
  rules: readonly PolicyRule[],
  name: string,
  verb: Verb = 'use',
  identity = 'token:a',
): boolean {
  return new Policy(rules).permissionsOf(identity).allows('LockService', verb, name);
}

test('nothing is allowed without a rule', () => {
  expect(allowed([], 'a/x')).toBe(false);
  expect(allowed([rule({})], 'b/x')).toBe(false);
  expect(allowed([rule({})], 'a/x', 'read')).toBe(false);
  expect(allowed([rule({})], 'a/x', 'use', 'token:b')).toBe(false);
  expect(allowed([rule({ services: ['SemaphoreService'] })], 'a/x')).toBe(false);
});

test('the longest prefix decides, also across rules and globs', () => {
  const rules = [
    rule({ identities: ['token:*'], names: ['a/secret/'], allow: ['read'] }),
    rule({ names: ['a/'], allow: ['use'] }),
  ];
  expect(allowed(rules, 'a/x')).toBe(true);
  expect(allowed(rules, 'a/secret/x')).toBe(false);
  expect(allowed(rules, 'a/secret/x', 'read')).toBe(true);
});

test('an empty allow denies the names below its prefix', () => {
  const rules = [rule({}), rule({ names: ['a/private/'], allow: [] })];
  expect(allowed(rules, 'a/x')).toBe(true);
  expect(allowed(rules, 'a/private/x')).toBe(false);
});

test('the permissions of equal prefixes unite', () => {
  const rules = [rule({}), rule({ allow: [] }), rule({ allow: ['read'] })];
  expect(allowed(rules, 'a/x', 'use')).toBe(true);
  expect(allowed(rules, 'a/x', 'read')).toBe(true);
  expect(allowed(rules, 'a/x', 'revoke')).toBe(false);
});

describe('max_ttl', () => {
  const bound = (rules: readonly PolicyRule[], name = 'a/x') =>
    new Policy(rules).permissionsOf('token:a').maxTtlMs('LockService', name);

  test('bounds the names below the prefix of its rule, and no other names', () => {
    const rules = [rule({ max_ttl: '30s' }), rule({ names: ['b/'] })];
    expect(bound(rules)).toBe(30_000);
    expect(bound(rules, 'b/x')).toBeUndefined();
    expect(bound(rules, 'c')).toBeUndefined();
    expect(new Policy(rules).permissionsOf('token:a').maxTtlMs('SemaphoreService', 'a/x')).toBeUndefined();
  });

  test('of a longer prefix decides alone, also if the longer prefix has none', () => {
    const rules = [
      rule({ max_ttl: '1m' }),
      rule({ names: ['a/b/'], max_ttl: '2m' }),
      rule({ names: ['a/c/'] }),
    ];
    expect([bound(rules), bound(rules, 'a/b/x'), bound(rules, 'a/c/x')]).toEqual([
      60_000,
      120_000,
      undefined,
    ]);
  });

  test('of equal prefixes is the longest, and a rule without a bound lifts it, but only a rule with use', () => {
    for (const order of [(rules: PolicyRule[]) => rules, (rules: PolicyRule[]) => rules.reverse()]) {
      const two = [rule({ max_ttl: '10s' }), rule({ max_ttl: '500ms' })];
      expect(bound(order([...two]))).toBe(10_000);
      expect(bound(order([...two, rule({ allow: ['read'] })]))).toBe(10_000);
      expect(bound(order([...two, rule({ allow: ['use', 'read'] })]))).toBeUndefined();
    }
  });
});

test('a star in a name stands for itself', () => {
  expect(allowed([rule({ names: ['a/*'] })], 'a/x')).toBe(false);
  expect(allowed([rule({ names: ['a/*'] })], 'a/*x')).toBe(true);
});

test('texts that look alike are different names', () => {
  const rules = [rule({ names: ['caf\u00e9/'] })];
  expect(allowed(rules, 'caf\u00e9/x')).toBe(true);
  expect(allowed(rules, 'cafe\u0301/x')).toBe(false);
  expect(allowed([rule({ names: ['A/'] })], 'a/x')).toBe(false);
});

test('the policy decides as the rule of its definition', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '/'), maxLength: 3 });
  const someRule = fc.record({
    identities: fc.array(fc.constantFrom('token:a', 'token:*', 'token:b', 'dns:*'), {
      minLength: 1,
      maxLength: 2,
    }),
    services: fc.subarray([...SERVICES], { minLength: 1 }),
    names: fc.array(text, { minLength: 1, maxLength: 3 }),
    allow: fc.subarray([...VERBS]),
  });
  const question = fc.tuple(
    fc.constantFrom('token:a', 'token:b', 'token:c', 'dns:x'),
    fc.constantFrom(...SERVICES),
    fc.constantFrom<Verb>(...VERBS),
    fc.string({ unit: fc.constantFrom('a', 'b', '/'), maxLength: 5 }),
  );
  const fits = (glob: string, identity: string) =>
    glob.endsWith('*') ? identity.startsWith(glob.slice(0, -1)) : glob === identity;
  fc.assert(
    fc.property(
      fc.array(someRule, { maxLength: 6 }),
      fc.array(question, { maxLength: 20 }),
      (rules, questions) => {
        const policy = new Policy(rules);
        for (const [identity, service, verb, name] of questions) {
          const matching = rules.filter(
            (one) => one.identities.some((glob) => fits(glob, identity)) && one.services.includes(service),
          );
          const prefixes = matching.flatMap((one) => one.names).filter((prefix) => name.startsWith(prefix));
          const longest = Math.max(-1, ...prefixes.map((prefix) => prefix.length));
          const deciding = matching.filter((one) =>
            one.names.some((prefix) => prefix.length === longest && name.startsWith(prefix)),
          );
          const expected = deciding.some((one) => one.allow.includes(verb));
          expect(policy.permissionsOf(identity).allows(service, verb, name)).toBe(expected);
        }
      },
    ),
    { numRuns: 500 },
  );
});
