import type { Attempt } from '../../../clients/conformance/kit/attempt';
import { readCase, type CaseSet } from '../../../clients/conformance/kit/case-file';
import { defaultJobs, inOrder, runsOf } from '../../../clients/conformance/kit/schedule';

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
