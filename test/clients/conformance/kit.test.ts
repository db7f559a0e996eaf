import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { type Attempt, attempt, type Outcome } from '../../../clients/conformance/kit/attempt';
import { Belief } from '../../../clients/conformance/kit/belief';
import { type CaseSet, readCase } from '../../../clients/conformance/kit/case-file';
import { casesOf } from '../../../clients/conformance/kit/case-folder';
import { declaredLanguages } from '../../../clients/conformance/kit/languages';
import { mismatch } from '../../../clients/conformance/kit/matching';
import { isFailure, table } from '../../../clients/conformance/kit/report';
import { groupTable, writeTable } from '../../../clients/conformance/kit/result-table';
import { defaultJobs, inOrder, runsOf } from '../../../clients/conformance/kit/schedule';
import type { World } from '../../../clients/conformance/kit/world';
import type { Holding } from '../../../clients/conformance/server/resource';
import { ROOT } from '../../support/root';
import { scratchFolder } from '../../support/scratch-folder';

const FOLDER = join(ROOT, 'clients', 'conformance');
const HEAD = 'title: a lease is lost\nsteps:\n';

function problemOf(text: string): string {
  try {
    readCase('01/x', 'scripted', text);
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error('the case was read');
}

describe('the case files of the conformance kit', () => {
  it('can all be read, and have titles of their own', () => {
    const cases = [...casesOf('scripted'), ...casesOf('faults')];
    const titles = cases.map(({ title }) => title);
    expect(cases.length).toBeGreaterThan(60);
    expect(new Set(titles).size).toBe(titles.length);
  });

  it('cover each rule that README.md lists', () => {
    const readme = readFileSync(join(FOLDER, 'README.md'), 'utf8');
    const listed = [...readme.matchAll(/^\| `(\d\d-[a-z-]+)`/gm)].map(([, folder]) => folder);
    expect(listed.length).toBe(12);
    const covered = new Set(casesOf('scripted').map(({ id }) => id.split('/')[0]));
    expect([...covered].sort()).toEqual(listed);
  });

  it('are named by each known failure of a declared language', () => {
    const ids = new Set([...casesOf('scripted'), ...casesOf('faults')].map(({ id }) => id));
    const folder = join(FOLDER, 'known-failures');
    // git has no empty folder, so the folder is missing while every client passes.
    for (const file of existsSync(folder) ? readdirSync(folder) : []) {
      expect(declaredLanguages()).toContain(file.replace('.yaml', ''));
      const known = parse(readFileSync(join(folder, file), 'utf8')) as Record<string, string> | null;
      for (const id of Object.keys(known ?? {})) expect(ids).toContain(id);
    }
  });
});

describe('the loader of case files', () => {
  it.each([
    ['a text that is no YAML', 'title: [', /^01\/x: no YAML: /],
    ['a case without a title', 'steps: [{ connect: {} }]', '01/x: the title is missing'],
    ['a case without steps', 'title: a', '01/x: the steps are missing'],
    ['an unknown key of a case', 'title: a\nstep: []', /a case has no "step"; possible: title, servers/],
    [
      'an unknown kind of certificate',
      `${HEAD}  - client_certificate: old`,
      '01/x: step 1: a certificate may be valid, ended, renewed',
    ],
    [
      'a name of an unknown server',
      `names: { n.test: [B] }\n${HEAD}  - connect: {}`,
      /n.test: there is no server B/,
    ],
    ['an unknown step', `${HEAD}  - conect: {}`, /step 1: none of conect is a step of the set scripted/],
    [
      'two steps in one',
      `${HEAD}  - connect: {}\n    check: { lease: l }`,
      /"connect" and "check" are two steps/,
    ],
    [
      'an unknown field of a command',
      `${HEAD}  - lock: { nam: x }`,
      /"lock" has no "nam"; possible: client, lease/,
    ],
    [
      'an unknown option',
      `${HEAD}  - connect: {}\n    expct: {}`,
      /the step "connect" has no "expct"; possible: within_ms/,
    ],
    ['an unknown server', `${HEAD}  - cut: true\n    server: B`, /step 1: there is no server B/],
    ['an unknown behaviour', `${HEAD}  - set: { ecko: true }`, /"set" has no "ecko"; possible: echo/],
    ['a takeover without an act', `${HEAD}  - on: { kind: attach }`, /"on" needs one act of fail, drop/],
    [
      'a takeover with two acts',
      `${HEAD}  - on: { kind: attach, drop: true, fail: CONTENDED }`,
      /"on" needs one act/,
    ],
    [
      'a reason that does not exist',
      `${HEAD}  - end_sessions: MOON`,
      /the reason "MOON" does not exist, so it needs a code/,
    ],
    ['a number as a text', `${HEAD}  - connect: {}\n    within_ms: soon`, /"within_ms" is a number/],
    ['a bound without a mark', `${HEAD}  - connect: {}\n    max_ms: 5`, /"min_ms" and "max_ms" need "since"/],
    ['an unknown act of the driver', `${HEAD}  - driver: pause`, /a driver can stop, continue, end, kill/],
    ['a step of the other set', `${HEAD}  - kill: true`, /none of kill is a step of the set scripted/],
  ])('refuses %s, and says where', (_, text, problem) => {
    expect(problemOf(text)).toMatch(problem);
  });

  it('keeps the order of steps and servers', () => {
    const one = readCase(
      '01/x',
      'scripted',
      `servers: { B: {}, A: { down: true } }\n${HEAD}  - connect: {}\n  - cut: true`,
    );
    expect([...one.servers.keys()]).toEqual(['B', 'A']);
    expect(one.steps.map(({ verb, line }) => [verb, line])).toEqual([
      ['connect', 1],
      ['cut', 2],
    ]);
  });
});

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

const LANGUAGES = ['go', 'java'].map((name) => ({
  name,
  start: [],
  knownFailures: new Map<string, string>(),
}));

function oneCase(id: string, set: CaseSet) {
  return readCase(id, set, 'title: a test\nsteps:\n  - connect: {}\n');
}

function ended(language: string, id: string): Attempt {
  return { id, language, outcome: 'passed', ms: 1, problem: '', transcript: [] };
}

describe('the order of the runs', () => {
  it('begins with the cases of real faults, and lets the languages take turns', () => {
    const cases = [oneCase('01/a', 'scripted'), oneCase('faults/b', 'faults')];
    const runs = runsOf(cases, LANGUAGES, 2).map(({ one, language }) => `${language.name} ${one.id}`);
    const once = ['go faults/b', 'java faults/b', 'go 01/a', 'java 01/a'];
    expect(runs).toEqual([...once, ...once]);
  });

  it('reports the attempts by language and case, in whatever order they ended', () => {
    const attempts = [ended('java', '01/a'), ended('go', '02/b'), ended('java', '01/c'), ended('go', '01/a')];
    const sorted = inOrder(attempts, LANGUAGES).map(({ language, id }) => `${language} ${id}`);
    expect(sorted).toEqual(['go 01/a', 'go 02/b', 'java 01/a', 'java 01/c']);
  });

  it.each([
    [1, 6],
    [2, 12],
    [64, 24],
  ])('runs, on %d cores, %d cases at once', (cores, jobs) => {
    expect(defaultJobs(cores)).toBe(jobs);
  });
});

describe('the table of results', () => {
  const one = (id: string, language: string, outcome: Outcome): Attempt => ({
    ...{ id, language, outcome, ms: 1, problem: '', transcript: [] },
  });
  const ATTEMPTS = [
    one('09-fork/child', 'go', 'not offered'),
    one('01-deadline/a', 'go', 'passed'),
    one('01-deadline/b', 'go', 'known failure'),
    one('09-fork/child', 'python', 'passed'),
    one('01-deadline/a', 'python', 'failed'),
    one('01-deadline/b', 'python', 'passed'),
  ];
  const TABLE = [
    '| cases         | go     | python |',
    '| ------------- | ------ | ------ |',
    '| `01-deadline` | 1 of 2 | 1 of 2 |',
    '| `09-fork`     | -      | 1 of 1 |',
    '| all           | 1 of 2 | 2 of 3 |',
  ].join('\n');

  test('a table counts the passed cases of each group and language', () => {
    expect(groupTable(ATTEMPTS)).toBe(TABLE);
  });

  test('a written table replaces the earlier one, and nothing else of the document', () => {
    const file = join(scratchFolder(), 'testing.md');
    const document = readFileSync(join(ROOT, 'docs', 'testing.md'), 'utf8');
    writeFileSync(file, document);
    writeTable(file, ATTEMPTS);
    const [first] = [readFileSync(file, 'utf8'), writeTable(file, ATTEMPTS)];
    expect(readFileSync(file, 'utf8')).toBe(first);
    expect(first).toContain(TABLE);
    const marks = document.split(/<!-- .* -->/);
    expect(marks).toHaveLength(3);
    expect(first.startsWith(marks[0] ?? '?')).toBe(true);
    expect(first.endsWith(marks[2] ?? '?')).toBe(true);
  });

  test('a document without marks is refused', () => {
    const file = join(scratchFolder(), 'other.md');
    writeFileSync(file, '# Other\n');
    expect(() => writeTable(file, ATTEMPTS)).toThrow('has no marks of the table');
  });
});

describe('the runs of drivers', () => {
  const READY = `console.log('{"ready":true,"language":"test","protocol":1}');`;
  const ON_LINE = `require('readline').createInterface({ input: process.stdin })`;

  /** A driver that answers each command with a line. */
  function driver(answer: string, end = 'process.exit(0)') {
    const code = `${READY} const lines = ${ON_LINE};
    lines.on('line', (line) => { const { id, do: verb } = JSON.parse(line); ${answer} });
    lines.on('close', () => ${end});`;
    return { name: 'test', start: [process.execPath, '-e', code], knownFailures: new Map<string, string>() };
  }

  function oneCase(steps: string, more = '') {
    return readCase('01/x', 'scripted', `title: a test\n${more}steps:\n${steps}`);
  }

  const CONNECT = oneCase('  - connect: {}');
  const ANSWER = 'console.log(JSON.stringify({ id, connected: true }))';

  describe('the runner of the cases', () => {
    it('passes a driver that answers', async () => {
      expect(await attempt(CONNECT, driver(ANSWER))).toMatchObject({ outcome: 'passed', problem: '' });
    });

    it.each([
      ['no JSON', `console.log('hello')`, /a line that is no JSON: hello/],
      ['another id', 'console.log(JSON.stringify({ id: 77 }))', /no command has the id of \{"id":77\}/],
      ['two results', `${ANSWER}; ${ANSWER}`, /the result 1 came twice/],
      [
        'an error',
        'console.log(JSON.stringify({ id, error: { class: "other" } }))',
        /error is \{"class":"other"\}, not null/,
      ],
      ['nothing, because it crashed', 'process.exit(3)', /the driver ended: code 3/],
      [
        'a loss of a lease',
        `console.log('{"event":"lost","lease":"l"}'); ${ANSWER}`,
        /a loss that the case does not expect/,
      ],
    ])('fails a driver that writes %s', async (_, answer, problem) => {
      const result = await attempt(CONNECT, driver(answer));
      expect(result.problem).toMatch(problem);
      expect(isFailure(result)).toBe(true);
    });

    it('fails a driver that does not exit with code 0 when stdin ends', async () => {
      const { problem } = await attempt(CONNECT, driver(ANSWER, 'process.exit(1)'));
      expect(problem).toMatch(/the driver ended with code 1, not with code 0/);
    });

    it('shows a command that a language cannot offer only where the case says so', async () => {
      const unsupported = driver('console.log(JSON.stringify({ id, unsupported: true }))');
      const steps = '  - fork: { lease: l }';
      expect((await attempt(oneCase(steps), unsupported)).outcome).toBe('failed');
      expect((await attempt(oneCase(steps, 'needs: fork\n'), unsupported)).outcome).toBe('not offered');
    });

    it('runs a known failure, and reports one that passes', async () => {
      const knownFailures = new Map([['01/x', 'not written yet']]);
      const failing = await attempt(CONNECT, { ...driver('process.exit(3)'), knownFailures });
      const passing = await attempt(CONNECT, { ...driver(ANSWER), knownFailures });
      expect([failing.outcome, passing.outcome]).toEqual(['known failure', 'passes unexpectedly']);
      expect([failing, passing].map(isFailure)).toEqual([false, true]);
      expect(table([failing])).toBe('case  test\n01/x  known');
    });
  });

  describe('the check of beliefs', () => {
    function belief(believableUntil: number): Belief {
      const world = { lease: () => ({ believableUntil }) as Holding } as unknown as World;
      const checked = new Belief(world);
      checked.sent(1, 'lock', { lease: 'l', name: 'report' }, 0);
      checked.told({ message: { id: 1, granted: { token: '1' } }, at: 5, isTaken: false });
      return checked;
    }

    function check(one: Belief, at: number, remaining: number): string | undefined {
      one.sent(2, 'check', { lease: 'l' }, at);
      one.told({ message: { id: 2, valid: true, remaining_ms: remaining }, at: at + 1, isTaken: false });
      return one.problem;
    }

    it('allows a lease until its deadline', () => {
      expect(check(belief(1000), 400, 600)).toBeUndefined();
    });

    it('refuses a lease that is valid after its deadline', () => {
      expect(check(belief(1000), 1040, 3)).toBe('lease l was valid 40 ms after its deadline');
    });

    it('refuses a remaining time that reaches beyond the deadline', () => {
      expect(check(belief(1000), 400, 650)).toBe('lease l has 650 ms left, but its deadline comes in 600 ms');
    });
  });
});
