import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { SessionCommand } from '../../generated/typescript/holdfast/v1/session_service';
import { AdmittedCall } from '../../src/access/admit';
import { Authorization, EVERY_RIGHT } from '../../src/access/authorization';
import { openAccess } from '../../src/access/open-access';
import {
  decide,
  Policy,
  type PolicyRule,
  readMaxTtl,
  SERVICES,
  type Verb,
  VERBS,
} from '../../src/access/policy';
import { describedCalls, describedCommands, describedFiles } from '../../src/access/verbs';
import { systemClock } from '../../src/base/clock';
import { NO_LOG } from '../support/fake-call';
import { ROOT } from '../support/root';
import { scratchFolder } from '../support/scratch-folder';
import { assertWithinTime } from '../support/timed-property';

describe('policy', () => {
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
    assertWithinTime(
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
    );
  });
});

describe('policy decision', () => {
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
    assertWithinTime(
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
    );
  });
});

describe('policy file', () => {
  async function startWith(text: string | undefined) {
    const path = join(scratchFolder(), 'policy.yaml');
    if (text !== undefined) writeFileSync(path, text);
    return openAccess({ policy: { setting: 'HOLDFAST_POLICY', path } }, systemClock, NO_LOG);
  }

  test.each([
    [
      'a misspelt key',
      'rulez: []\n',
      /^HOLDFAST_POLICY: .*policy\.yaml is not a policy:\n.*line 1: rulez: is not a known key/s,
    ],
    ['no file', undefined, /^HOLDFAST_POLICY cannot be read: /],
    [
      'a file that is too large',
      `# ${'x'.repeat(300_000)}\nrules: []\n`,
      /300\d\d\d bytes; at most 262144 are accepted/,
    ],
  ])('the start fails with %s, and the message names the setting', async (_title, text, message) => {
    await expect(startWith(text)).rejects.toThrow(message);
  });

  test('the start succeeds with a policy that allows nothing', async () => {
    const opened = await startWith('rules: []\n');
    expect(opened.authorization?.policy.permissionsOf('token:a').allows('LockService', 'read', 'x')).toBe(
      false,
    );
    opened.close();
  });
});

describe('command verbs', () => {
  const COMMANDS = describedCommands(describedFiles(readFileSync(join(ROOT, 'generated/descriptor.binpb'))));

  test('every kind of command of a session declares its verb', () => {
    expect(COMMANDS).toEqual([
      { kind: 'acquireLock', verb: 'use' },
      { kind: 'acquirePermits', verb: 'use' },
      { kind: 'attach', verb: 'use' },
      { kind: 'release', verb: 'use' },
      { kind: 'update', verb: 'use' },
      { kind: 'cancel', verb: 'none' },
    ]);
  });

  test('the kinds of commands are named as in the generated code', () => {
    for (const [index, { kind }] of COMMANDS.entries()) {
      // The kinds have the numbers from 2. An empty message of a kind has the wire type 2 and the length 0.
      const command = SessionCommand.decode(Uint8Array.of(((index + 2) << 3) | 2, 0));
      expect(command.command?.$case).toBe(kind);
    }
  });
});

describe('the rights of a command in a stream', () => {
  class StreamCall extends AdmittedCall {
    protected endWith(): void {}
  }

  function callUnder(authorization: Authorization | undefined): StreamCall {
    const parts = { access: undefined, accounts: undefined, audit: NO_LOG };
    const arriving = {
      method: 'Session',
      peer: '',
      connection: {},
      authorization: [],
      peerCertificate: () => undefined,
    };
    return new StreamCall({ ...parts, authorization, rules: new Map() } as never, arriving, undefined);
  }

  test('are refused if no rule says what the command needs, instead of given', () => {
    const row = {};
    expect(() => callUnder(new Authorization(new Policy([]))).rightsFor(row, {} as never)).toThrow(
      'no row with a rule',
    );
    expect(callUnder(undefined).rightsFor(row, {} as never)).toBe(EVERY_RIGHT);
  });
});

describe('documented verbs', () => {
  /** The table of verbs in docs/operations/security.md, and the verbs of the contract. */

  const CALLS = describedCalls(describedFiles(readFileSync(join(ROOT, 'generated/descriptor.binpb'))));

  /** The rows of the table, by verb. */
  function documented(): ReadonlyMap<string, readonly string[]> {
    const text = readFileSync(join(ROOT, 'docs/operations/security.md'), 'utf8');
    const [, after = ''] = text.split('### Verbs');
    const [section = ''] = after.split('\n#');
    const rows = [...section.matchAll(/^\| `?(\w+)`? \| (.+?) \|$/gm)].filter(([, verb]) => verb !== 'verb');
    const calls = new Map<string, string[]>();
    for (const [, verb = '', list = ''] of rows)
      calls.set(verb, [...(calls.get(verb) ?? []), ...list.split(', ')]);
    return calls;
  }

  test('the table of verbs has every call of the contract once, with its verb', () => {
    const expected = new Map<string, string[]>();
    for (const { verb, method } of CALLS) {
      const key = verb ?? 'missing';
      expected.set(key, [...(expected.get(key) ?? []), method]);
    }
    const sorted = (map: ReadonlyMap<string, readonly string[]>) =>
      Object.fromEntries([...map].map(([verb, calls]) => [verb, [...calls].sort()]));
    expect(sorted(documented())).toEqual(sorted(expected));
  });
});
