import { execFileSync } from 'node:child_process';
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { checkAll, type CheckResult, expectInvariantsToHold } from '../support/checkers/check-all';
import { type Invariant, INVARIANTS } from '../support/checkers/violation';
import type { EventBody, History, HistoryEvent, Micros } from '../support/history';
import {
  FileSink,
  hashLeaseId,
  MemorySink,
  mergeHistories,
  monotonicMicros,
  readHistory,
  readHistoryFile,
  Recorder,
} from '../support/history-recorder';
import { scratchFolder } from '../support/scratch-folder';
import { type Mutation, MUTATIONS, type Plan } from '../support/simulator/loop';
import { plansWithFaults, plansWithoutFaults, SCENARIOS } from '../support/simulator/scenarios';
import { simulate } from '../support/simulator/world';
import { IS_LONG } from '../support/timed-property';

describe('the record of histories', () => {
  let folder: string;

  beforeEach(() => {
    folder = scratchFolder();
  });

  function killed(client: string): EventBody {
    return { type: 'killed', client };
  }

  describe('the clock of histories', () => {
    it('is the same in every process of a machine', () => {
      const before = monotonicMicros();
      const script = 'process.stdout.write(String(process.hrtime.bigint() / 1000n))';
      const there = Number(execFileSync(process.execPath, ['-e', script], { encoding: 'utf8' }));
      expect(there).toBeGreaterThan(before);
      expect(there).toBeLessThan(monotonicMicros());
    });
  });

  describe('Recorder', () => {
    it('adds the source, the sequence number and the time to an event, and prefers a given time', () => {
      let now: Micros = 100;
      const recorder = new Recorder('a', new MemorySink(), () => now);
      expect(recorder.record(killed('x'))).toEqual({
        type: 'killed',
        client: 'x',
        at: 100,
        source: 'a',
        seq: 1,
      });
      now = 200;
      expect(recorder.record(killed('y'), 150)).toMatchObject({ at: 150, seq: 2 });
    });

    it('writes an event to the file before record() returns', () => {
      const path = join(folder, 'a.jsonl');
      const sink = new FileSink(path);
      const event = new Recorder('a', sink).record(killed('x'));
      expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual(event);
      sink.close();
    });
  });

  describe('the histories of several processes', () => {
    it('are merged by time, and keep the order of each source', () => {
      const times = { a: [1, 5, 5], b: [2, 5, 9] };
      const histories = Object.entries(times).map(([source, instants]) => {
        const sink = new MemorySink();
        const recorder = new Recorder(source, sink);
        instants.forEach((at, index) => recorder.record(killed(`${source}${index}`), at));
        return sink.events;
      });
      const clients = mergeHistories(...histories).map((event) => 'client' in event && event.client);
      expect(clients).toEqual(['a0', 'b0', 'a1', 'a2', 'b1', 'b2']);
    });

    it('are read from files without an incomplete last line', () => {
      const paths = ['a', 'b'].map((source) => {
        const path = join(folder, `${source}.jsonl`);
        const sink = new FileSink(path);
        new Recorder(source, sink).record(killed(source), source === 'a' ? 2 : 1);
        sink.close();
        appendFileSync(path, '{"at":3,"sour');
        return path;
      });
      expect(readHistory(paths).map((event) => event.source)).toEqual(['b', 'a']);
    });

    it('are refused with the line number of a damaged line', () => {
      const path = join(folder, 'a.jsonl');
      appendFileSync(path, '{"at":3,"sour\n{}\n');
      expect(() => readHistoryFile(path)).toThrow('a.jsonl:1 is not an event');
    });
  });

  it('hashLeaseId makes different names of 16 hex digits from different lease ids', () => {
    expect(hashLeaseId('lease')).toMatch(/^[0-9a-f]{16}$/);
    expect(hashLeaseId('lease')).not.toBe(hashLeaseId('Lease'));
  });
});

/** The plans are the same in every run, unless HOLDFAST_TEST_SEED or HOLDFAST_TEST_RUNS is set. */
const SEED = Number(process.env['HOLDFAST_TEST_SEED'] ?? 20_251);
const RUNS = Number(process.env['HOLDFAST_TEST_RUNS'] ?? (IS_LONG ? 400 : 100));
const ALLOWANCES = { latencyUs: 50_000, keepAliveUs: 3_000_000 };

/** Checks the history of each plan, without mutations, and counts the events by kind. */
function checkFamily(plans: fc.Arbitrary<Plan>): Map<string, number> {
  const seen = new Map<string, number>();
  const count = (kind: string) => seen.set(kind, (seen.get(kind) ?? 0) + 1);
  // With a seed and a number of plans, because the kinds of events are counted below.
  // eslint-disable-next-line no-restricted-properties
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

describe('faulty histories', () => {
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
});
