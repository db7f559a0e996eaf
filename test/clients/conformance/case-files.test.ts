import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { readCase } from '../../../clients/conformance/kit/case-file';
import { casesOf } from '../../../clients/conformance/kit/case-folder';
import { declaredLanguages } from '../../../clients/conformance/kit/languages';
import { ROOT } from '../../support/root';

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
