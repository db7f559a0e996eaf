import fc from 'fast-check';
import { checkAll, expectInvariantsToHold } from '../support/checkers/check-all';
import type { History, HistoryEvent } from '../support/history';
import type { Plan } from '../support/simulator/loop';
import { plansWithFaults, plansWithoutFaults, SCENARIOS } from '../support/simulator/scenarios';
import { simulate } from '../support/simulator/world';

/** The plans are the same in every run, unless HOLDFAST_TEST_SEED or HOLDFAST_TEST_RUNS is set. */
const SEED = Number(process.env['HOLDFAST_TEST_SEED'] ?? 20_251);
const RUNS = Number(process.env['HOLDFAST_TEST_RUNS'] ?? 200);
const ALLOWANCES = { latencyUs: 50_000, keepAliveUs: 3_000_000 };

/** Checks the history of each plan, without mutations, and counts the events by kind. */
function checkFamily(plans: fc.Arbitrary<Plan>): Map<string, number> {
  const seen = new Map<string, number>();
  const count = (kind: string) => seen.set(kind, (seen.get(kind) ?? 0) + 1);
  fc.assert(
    fc.property(plans, (plan) => {
      const history = simulate(plan);
      const { violations, report } = checkAll(history, ALLOWANCES);
      if (violations.length > 0) throw new Error(report);
      history.forEach((event) => count(kindOf(event)));
    }),
    { seed: SEED, numRuns: RUNS },
  );
  return seen;
}

function kindOf(event: HistoryEvent): string {
  if (event.type === 'ended') return `ended ${event.reason ?? event.code}`;
  if (event.type === 'lost') return `lost ${event.cause}`;
  if (event.type === 'fault_started') return event.kind;
  return event.type;
}

describe('the checkers', () => {
  it('report no violation of a correct service without faults', () => {
    const seen = checkFamily(plansWithoutFaults);
    for (const kind of ['granted', 'queued', 'renewed', 'release_answered', 'cancelled', 'ended CONTENDED']) {
      expect([kind, (seen.get(kind) ?? 0) > RUNS / 4]).toEqual([kind, true]);
    }
  });

  it('report no violation of a correct service while processes die, links break and the store stalls or loses data', () => {
    const seen = checkFamily(plansWithFaults);
    const kinds = [
      'killed',
      'lost STORE_RESET',
      'lost STORE_UNAVAILABLE',
      'renewal_failed',
      'ended SUPERSEDED',
    ];
    const faults = [
      'client_stopped',
      'link_cut',
      'server_killed',
      'server_stopped',
      'redis_stopped',
      'redis_deleted',
    ];
    for (const kind of [...kinds, ...faults, 'reply_dropped']) {
      expect([kind, seen.has(kind)]).toEqual([kind, true]);
    }
  });

  it('get the same history when the same plan is simulated again', () => {
    const [plan] = fc.sample(plansWithFaults, { seed: SEED, numRuns: 1 });
    if (plan === undefined) throw new Error('no plan was made');
    expect(simulate(plan)).toEqual(simulate(plan));
  });
});

describe('expectInvariantsToHold', () => {
  const history: History = simulate(SCENARIOS.lifo.plan);

  it('passes if the invariants hold', () => {
    expect(() => expectInvariantsToHold(history, ALLOWANCES)).not.toThrow();
  });

  it('throws the traces of violations', () => {
    const broken = history.map((event) => (event.type === 'granted' ? { ...event, token: 1 } : event));
    expect(() => expectInvariantsToHold(broken, ALLOWANCES)).toThrow(/fencing .*two leases\n.* granted /s);
  });

  it('throws if the history has no grant', () => {
    const empty = history.filter((event) => event.type !== 'granted');
    expect(() => expectInvariantsToHold(empty, { only: ['exclusion'] })).toThrow('proves nothing');
  });
});
