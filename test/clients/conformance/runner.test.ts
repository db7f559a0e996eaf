import { attempt } from '../../../clients/conformance/kit/attempt';
import { Belief } from '../../../clients/conformance/kit/belief';
import { readCase } from '../../../clients/conformance/kit/case-file';
import type { World } from '../../../clients/conformance/kit/world';
import { isFailure, table } from '../../../clients/conformance/kit/report';
import type { Holding } from '../../../clients/conformance/server/resource';

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
