import fc from 'fast-check';
import { decide, Policy, type PolicyRule, readMaxTtl } from '../../src/access/policy';
import { SERVICES, VERBS } from '../../src/access/verbs';

/** Short texts of few letters, so that identities, globs, names and prefixes often match. */
const text = fc.string({ unit: fc.constantFrom('a', 'b', '/'), maxLength: 4 });
const glob = fc.string({ unit: fc.constantFrom('a', 'b', '/', '*'), minLength: 1, maxLength: 4 });
const rule: fc.Arbitrary<PolicyRule> = fc.record({
  identities: fc.array(glob, { minLength: 1, maxLength: 2 }),
  services: fc.subarray([...SERVICES], { minLength: 1 }),
  names: fc.array(text, { minLength: 1, maxLength: 3 }),
  allow: fc.subarray([...VERBS]),
  max_ttl: fc.constantFrom(undefined, '1s', '1m'),
});
const question = fc.record({
  identity: text,
  verb: fc.constantFrom(...VERBS),
  service: fc.constantFrom(...SERVICES),
  name: text,
});

it('decides every call as a server does, and names only rules that decide', () => {
  fc.assert(
    fc.property(fc.array(rule, { maxLength: 6 }), question, (rules, asked) => {
      const { identity, service, verb, name } = asked;
      const { isAllowed, prefix, deciding, maxTtl } = decide(rules, asked);
      if (verb === 'use' && isAllowed) {
        const bound = new Policy(rules).permissionsOf(identity).maxTtlMs(service, name);
        expect(maxTtl && readMaxTtl(maxTtl)).toBe(bound);
      } else expect(maxTtl).toBeUndefined();
      expect(isAllowed).toBe(new Policy(rules).permissionsOf(identity).allows(service, verb, name));
      const without = rules.filter((_, index) => !deciding.includes(index));
      if (isAllowed) {
        // Without the named rules the same prefix no longer allows the call.
        const rest = decide(without, asked);
        expect(rest.isAllowed && rest.prefix === prefix).toBe(false);
      } else {
        expect(deciding.length === 0).toBe(prefix === undefined);
      }
    }),
    { numRuns: 2000 },
  );
});
