import fc from 'fast-check';
import { identityGlob } from '../../src/access/identity';
import { readPolicy } from '../../src/access/policy-text';
import { PrefixTable } from '../../src/access/prefixes';
import { assertWithinTime } from '../support/timed-property';

describe('policy text', () => {
  const GOOD = `# Team A
rules:
  - identities: ["token:team-a-*"]
    services: [LockService, SemaphoreService]
    names: ["team-a/"]
    allow: [read, use]
`;

  function problemsOf(text: string): readonly string[] {
    const read = readPolicy(text);
    if ('problems' in read) return read.problems;
    throw new Error('the text is a policy');
  }

  /** GOOD with a change of one line. */
  function changed(line: string, to: string): string {
    if (!GOOD.includes(line)) throw new Error(`no line ${line}`);
    return GOOD.replace(line, to);
  }

  test('a good text gives its rules', () => {
    expect(readPolicy(GOOD)).toEqual({
      rules: [
        {
          identities: ['token:team-a-*'],
          services: ['LockService', 'SemaphoreService'],
          names: ['team-a/'],
          allow: ['read', 'use'],
        },
      ],
      quotas: [],
      warnings: [],
    });
    expect(readPolicy('rules: []\n')).toEqual({ rules: [], quotas: [], warnings: [] });
  });

  test('a rule may bound the ttl of the leases that it allows', () => {
    const withMax = (text: string) => `${GOOD}    max_ttl: ${text}\n`;
    expect(readPolicy(withMax('30s'))).toMatchObject({ rules: [{ max_ttl: '30s' }] });
    for (const text of ['100ms', '24h', '1440m']) expect(readPolicy(withMax(text))).toHaveProperty('rules');
    for (const text of ['30', '99ms', '25h', '1d', 'long', '-1s', '1.5s', '0s']) {
      expect(problemsOf(withMax(text))).toEqual([
        'line 7: rules[0].max_ttl: must be a span from 100ms to 24h, such as 500ms, 30s or 2m',
      ]);
    }
  });

  test.each([
    ['the verb use', '    allow: [read, use]', '    allow: [read]'],
    [
      'a service with leases',
      '    services: [LockService, SemaphoreService]',
      '    services: [AutocompleteService]',
    ],
  ])('max_ttl needs %s', (_title, line, to) => {
    expect(problemsOf(`${changed(line, to)}    max_ttl: 30s\n`)).toEqual([
      'line 7: rules[0].max_ttl: needs the verb use, and LockService or SemaphoreService, because only leases have a ttl',
    ]);
  });

  test('a text may have quotas, for some identities and for all', () => {
    const quotas = `quotas:
  - identities: ["token:team-a-*"]
    leases: 100
    commands_per_second: 50
  - waiters: 0
    streams: 10
    sessions: 0
    entries: 1000
    bytes: 1000000
`;
    expect(readPolicy(GOOD + quotas)).toMatchObject({
      quotas: [
        { identities: ['token:team-a-*'], leases: 100, commands_per_second: 50 },
        { waiters: 0, streams: 10, sessions: 0, entries: 1000, bytes: 1_000_000 },
      ],
    });
  });

  test('the identities of an item may share its quotas, except entries and bytes', () => {
    const item = (text: string) => `${GOOD}quotas:\n  - count: ${text}\n`;
    expect(readPolicy(item('together\n    leases: 3'))).toMatchObject({
      quotas: [{ count: 'together', leases: 3 }],
    });
    expect(problemsOf(item('all\n    leases: 3'))).toEqual([
      'line 8: quotas[0].count: must be one of each, together',
    ]);
    for (const quota of ['entries', 'bytes']) {
      expect(problemsOf(item(`together\n    leases: 3\n    ${quota}: 1`))).toEqual([
        expect.stringContaining('quotas[0].count: together is not for entries and bytes'),
      ]);
    }
  });

  test.each([
    ['a misspelt quota', '  - lease: 1', 'line 8: quotas[0].lease: is not a known key'],
    ['a text in place of a number', '  - leases: "10"', 'line 8: quotas[0].leases: must be a whole number'],
    ['a fraction', '  - waiters: 1.5', 'line 8: quotas[0].waiters: must be a whole number of at least 0'],
    ['a negative number', '  - bytes: -1', 'line 8: quotas[0].bytes: must be a whole number of at least 0'],
    [
      'no commands',
      '  - commands_per_second: 0',
      'quotas[0].commands_per_second: must be a whole number of at least 1',
    ],
    [
      'an item without a quota',
      '  - identities: ["token:a"]',
      'line 8: quotas[0]: must have at least one of leases',
    ],
    [
      'no identity',
      '  - {identities: [], leases: 1}',
      'line 8: quotas[0].identities: must have at least one',
    ],
    [
      'an identity of no kind',
      '  - {identities: ["a"], leases: 1}',
      'quotas[0].identities[0]: matches no identity',
    ],
    ['too many items', '  - leases: 1\n'.repeat(501), 'quotas: must not have more than 500 items'],
  ])('%s in quotas is a problem, with its line', (_title, text, problem) => {
    expect(problemsOf(`${GOOD}quotas:\n${text}\n`)[0]).toContain(problem);
  });

  test.each([
    [
      'a misspelt verb',
      changed('[read, use]', '[read, uses]'),
      'line 6: rules[0].allow[1]: must be one of read, use',
    ],
    [
      'a misspelt service',
      changed('[LockService, ', '[Lockservice, '),
      'line 4: rules[0].services[0]: must be one of',
    ],
    ['a misspelt key', changed('    allow:', '    alow:'), 'line 6: rules[0].alow: is not a known key'],
    ['a missing key', changed('    names: ["team-a/"]\n', ''), 'line 3: rules[0].names: is required'],
    ['an unknown key at the top', `${GOOD}rule: []\n`, 'line 7: rule: is not a known key'],
    [
      'a text in place of a list',
      changed('["team-a/"]', '"team-a/"'),
      'line 5: rules[0].names: must be a list',
    ],
    [
      'a number in place of a name',
      changed('["team-a/"]', '[7]'),
      'line 5: rules[0].names[0]: must be a text',
    ],
    [
      'no identity',
      changed('["token:team-a-*"]', '[]'),
      'line 3: rules[0].identities: must have at least one',
    ],
    ['no name', changed('["team-a/"]', '[]'), 'line 5: rules[0].names: must have at least one'],
    [
      'two stars',
      changed('token:team-a-*', 'token:**'),
      'line 3: rules[0].identities[0]: "**" is not supported',
    ],
    [
      'an identity of no kind',
      changed('token:team-a', 'tokens:team-a'),
      'identities[0]: matches no identity',
    ],
    ['a DNS name in upper case', changed('token:team-a-*', 'dns:Worker.Example'), 'in lower case'],
    ['a trust domain in upper case', changed('token:team-a-*', 'spiffe://Example.org/x'), 'in lower case'],
    [
      'a SPIFFE ID with an empty segment',
      changed('token:team-a-*', 'spiffe://a.org/'),
      'matches no identity',
    ],
    ['a JSON web token without an issuer', changed('token:team-a-*', 'jwt:alice'), '"jwt:<issuer>#<claim>"'],
    ['a token with a space', changed('token:team-a-*', 'token:a b'), 'no spaces'],
    [
      'a control character',
      changed('team-a/', 'team-a\\n'),
      'line 5: rules[0].names[0]: must not contain control',
    ],
    ['U+FFFD', changed('team-a/', 'team-a\\uFFFD'), 'line 5: rules[0].names[0]: must be valid UTF-8'],
    [
      'a long name',
      changed('team-a/', 'x'.repeat(513)),
      'line 5: rules[0].names[0]: must not be longer than 512 bytes',
    ],
    ['a key twice', changed('    allow:', '    names: ["x"]\n    allow:'), 'line 6: Map keys must be unique'],
    ['no YAML', 'rules: [\n', 'line 2: '],
    ['a list without its end', `${GOOD.slice(0, -4)}\n`, 'line 7: '],
    ['an empty file', '', 'the file must have the key rules'],
    ['a last line that is cut off', GOOD.trimEnd(), 'line 6: does not end with a line feed'],
    ['a list at the top', '- rules\n', 'the file must have the key rules'],
    ['a tag', 'rules: !secret []\n', 'line 1: Unresolved tag'],
    ['two documents', `${GOOD}---\nrules: []\n`, 'line '],
  ])('a text with %s is no policy, and the problem has its line and path', (_title, text, problem) => {
    expect(problemsOf(text).join('\n')).toContain(problem);
  });

  test('a text that multiplies itself by aliases is refused', () => {
    const levels = Array.from({ length: 12 }, (_, level) =>
      level === 0 ? 'a0: &a0 [x]' : `a${level}: &a${level} [${`*a${level - 1},`.repeat(9)}]`,
    );
    expect(problemsOf(`${levels.join('\n')}\n`)).toHaveLength(1);
  });

  test('a star at the end of a name is allowed, with a warning', () => {
    expect(readPolicy(changed('team-a/', 'team-a/*'))).toMatchObject({
      warnings: [expect.stringContaining('line 5: rules[0].names[0]: a name is a prefix')],
    });
  });

  test.each([
    ...['*', 's*', 'token:*', 'dns:*.example', 'dns:a_b-1.example', 'jwt:https://login.example#*', 'jwt:*'],
    ...['spiffe://*', 'spiffe://example.org/Team/*', 'spiffe://*.org/a*b', 'token:Team-A', 'd*:x'],
  ])('the glob %j may match an identity', (glob) => {
    expect(readPolicy(changed('token:team-a-*', glob))).toMatchObject({ warnings: [] });
  });

  test('a name for ServerService is allowed, with a warning', () => {
    expect(
      readPolicy(changed('[LockService, SemaphoreService]', '[LockService, ServerService]')),
    ).toMatchObject({
      warnings: ['line 5: rules[0].names[0]: ServerService has no names, so only "" counts for its calls'],
    });
  });

  test('all problems are reported at once, up to a bound', () => {
    const problems = problemsOf(`rules:\n${'  - {}\n'.repeat(50)}`);
    expect(problems).toHaveLength(21);
    expect(problems.at(-1)).toBe('and 180 more problems');
  });

  test('more names than the bound are refused', () => {
    const names = Array.from({ length: 2501 }, (_, index) => `"n${index}"`).join(',');
    expect(problemsOf(changed('"team-a/"', names)).join()).toContain(
      'line 3: rules: must not have more than 5000 pairs',
    );
  });
});

describe('identity glob', () => {
  const matches = (glob: string, identity: string) => identityGlob(glob)(identity);

  test.each([
    ['token:a', 'token:a', true],
    ['token:a', 'token:ab', false],
    ['token:a*', 'token:a', true],
    ['token:a*', 'token:ab', true],
    ['token:*', 'token:', true],
    ['token:team-a-*', 'token:team-ab', false],
    ['spiffe://prod/team-a/*', 'spiffe://prod/team-a/worker', true],
    ['spiffe://prod/team-a/*', 'spiffe://prod/team-a/', true],
    ['spiffe://prod/team-a/*', 'spiffe://prod/team-a', false],
    ['spiffe://prod/team-a/*', 'spiffe://prod/team-a/worker/admin', false],
    ['spiffe://prod/*/worker', 'spiffe://prod/team-a/worker', true],
    ['spiffe://prod/*/worker', 'spiffe://prod/team-a/x/worker', false],
    ['spiffe://*', 'spiffe://prod/team-a', false],
    ['spiffe://*/*', 'spiffe://prod/team-a', true],
    ['*', 'token:a', true],
    ['*', 'spiffe://prod', false],
    ['dns:*.team-a.example', 'dns:w1.team-a.example', true],
    ['dns:*.team-a.example', 'dns:team-a.example', false],
    ['dns:*.a*.example', 'dns:x.ab.y.example', true],
    ['jwt:https://login.example#team-a-*', 'jwt:https://login.example#team-a-7', true],
    ['jwt:https://login.example#*', 'jwt:https://login.example.evil#x', false],
    ['token:a.c', 'token:abc', false],
    ['token:a?', 'token:ab', false],
    ['token:[ab]', 'token:a', false],
    ['token:*a*', 'token:a', true],
    ['token:a*a', 'token:a', false],
    ['token:aa*aa', 'token:aaa', false],
    ['token:Ä*', 'token:Äb', true],
  ])('the glob %j and the identity %j: %s', (glob, identity, expected) => {
    expect(matches(glob, identity)).toBe(expected);
  });

  /** The meaning of a glob, by a search that tries every possibility. */
  function naive(glob: string, text: string): boolean {
    if (glob === '') return text === '';
    if (glob[0] !== '*') return text !== '' && text[0] === glob[0] && naive(glob.slice(1), text.slice(1));
    for (let length = 0; length <= text.length && !text.slice(0, length).includes('/'); length++) {
      if (naive(glob.slice(1), text.slice(length))) return true;
    }
    return false;
  }

  test('a glob matches as a search that tries every possibility', () => {
    const glob = fc.string({ unit: fc.constantFrom('a', 'b', '/', '*', '*'), maxLength: 8 });
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '/'), maxLength: 10 });
    assertWithinTime(
      fc.property(glob, text, (pattern, identity) => {
        expect(matches(pattern, identity)).toBe(naive(pattern, identity));
      }),
    );
  });

  test('a glob with many stars is matched without a search that starts again', () => {
    const glob = `token:${'*a'.repeat(120)}b`;
    const matcher = identityGlob(glob);
    const started = performance.now();
    for (let round = 0; round < 100; round++) expect(matcher(`token:${'a'.repeat(250)}`)).toBe(false);
    expect(performance.now() - started).toBeLessThan(2000);
  });
});

describe('prefix table', () => {
  const NONE = -1;

  test('the longest prefix gives the value', () => {
    const table = new PrefixTable(
      new Map([
        ['team-a/', 1],
        ['team-a/secret/', 2],
        ['team-ab/', 3],
      ]),
      NONE,
    );
    expect(table.find('team-a/x')).toBe(1);
    expect(table.find('team-a/')).toBe(1);
    expect(table.find('team-a/secret')).toBe(1);
    expect(table.find('team-a/secret/x')).toBe(2);
    expect(table.find('team-ab/x')).toBe(3);
    expect(table.find('team-a')).toBe(NONE);
    expect(table.find('')).toBe(NONE);
    expect(table.find('zzz')).toBe(NONE);
  });

  test('the empty prefix is the beginning of every name, also of the empty name', () => {
    const table = new PrefixTable(new Map([['', 7]]), NONE);
    expect([table.find(''), table.find('x')]).toEqual([7, 7]);
    expect(new PrefixTable(new Map(), NONE).find('x')).toBe(NONE);
  });

  test('the table agrees with a comparison of each prefix, byte by byte', () => {
    const unit = fc.constantFrom('a', 'b', '/', '*', 'é', 'e\u0301', '😀', '\u{FFFF}', '日');
    const text = fc.string({ unit, maxLength: 6 });
    assertWithinTime(
      fc.property(
        fc.uniqueArray(text, { maxLength: 20 }),
        fc.array(text, { maxLength: 20 }),
        (prefixes, names) => {
          const values = new Map(prefixes.map((prefix, index) => [prefix, index]));
          const table = new PrefixTable(values, NONE);
          for (const name of [...names, ...prefixes]) {
            const bytes = Buffer.from(name);
            const fitting = prefixes.filter((prefix) => {
              const beginning = Buffer.from(prefix);
              return bytes.subarray(0, beginning.length).equals(beginning);
            });
            const longest = fitting.sort(
              (one, other) => Buffer.byteLength(other) - Buffer.byteLength(one),
            )[0];
            expect(table.find(name)).toBe(longest === undefined ? NONE : values.get(longest));
          }
        },
      ),
    );
  });
});
