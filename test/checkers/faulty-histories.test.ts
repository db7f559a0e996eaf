import { checkAll, type CheckResult } from '../support/checkers/check-all';
import { INVARIANTS, type Invariant } from '../support/checkers/violation';
import { type Mutation, MUTATIONS } from '../support/simulator/loop';
import { SCENARIOS } from '../support/simulator/scenarios';
import { simulate } from '../support/simulator/world';

const ALLOWANCES = { latencyUs: 50_000, keepAliveUs: 3_000_000 };

function check(mutation: Mutation, brokenBy: readonly Mutation[]): CheckResult {
  return checkAll(simulate(SCENARIOS[mutation].plan, brokenBy), ALLOWANCES);
}

const table = Object.entries(MUTATIONS).map(([mutation, wrong]) => ({
  mutation: mutation as Mutation,
  wrong,
  caughtBy: SCENARIOS[mutation as Mutation].caughtBy,
}));

describe.each(table)('the mutation $mutation ($wrong)', ({ mutation, caughtBy }) => {
  it(`is caught by these checkers: ${caughtBy.join(', ')}`, () => {
    const { violations } = check(mutation, [mutation]);
    const found = new Set(violations.map((violation) => violation.invariant));
    expect([...found]).toEqual(expect.arrayContaining([...caughtBy]));
  });

  it('causes violations with at most six events in each trace', () => {
    for (const { trace } of check(mutation, [mutation]).violations) {
      expect(trace.length).toBeGreaterThan(0);
      expect(trace.length).toBeLessThanOrEqual(6);
    }
  });

  it('is the only cause of violations: the same plan without the mutation has none', () => {
    const result = check(mutation, []);
    expect(result.report).toContain('0 violations');
    expect(result.grantCount).toBeGreaterThan(0);
  });
});

/** The simulator has no sessions. The mutations of sessions are in sessions.test.ts. */
const SIMULATED = INVARIANTS.filter((invariant) => invariant !== 'session');

it('the table of mutations has at least one mutation for every invariant that the simulator can show', () => {
  const caught = new Set<Invariant>(table.flatMap((row) => row.caughtBy));
  expect(SIMULATED.filter((invariant) => !caught.has(invariant))).toEqual([]);
});
