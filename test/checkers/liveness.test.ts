import { checkAll } from '../support/checkers/check-all';
import type { CheckOptions, Invariant } from '../support/checkers/violation';
import type { History } from '../support/history';
import {
  asked,
  cancelled,
  ended,
  fault,
  goesOnUntil,
  granted,
  holders,
  holds,
  killed,
  limit,
  observed,
  probed,
  queued,
  releases,
  residue,
  written,
} from './written-history';

const SEMAPHORE = 'semaphore';
const SHARP: Partial<CheckOptions> = { latencyUs: 10_000, keepAliveUs: 2_000_000 };

function messages(invariant: Invariant, history: History): string[] {
  const { violations } = checkAll(history, { ...SHARP, only: [invariant] });
  return violations.map((violation) => violation.message);
}

/** A client that is queued a millisecond after its request. */
function waits(atMs: number, client: string) {
  return [asked(atMs, client), queued(atMs + 1, client)];
}

describe('the FIFO checker', () => {
  const found = (history: History) => messages('fifo', history).length;
  const first = [holds(0, 'a', 1), waits(10, 'b'), asked(20, 'c')] as const;

  it('compares two requests only if the first was queued before the second was sent', () => {
    expect(found(written(...first, granted(30, 'c', 2), granted(40, 'b', 3)))).toBe(1);
    expect(found(written(...first, granted(30, 'c', 3), granted(40, 'b', 2)))).toBe(0);
    const together = [holds(0, 'a', 1), asked(10, 'b'), asked(20, 'c'), queued(21, 'b')];
    expect(found(written(...together, granted(30, 'c', 2), granted(40, 'b', 3)))).toBe(0);
  });

  it('reports a later request that is granted while an earlier waiter is never granted', () => {
    expect(found(written(...first, granted(30, 'c', 2), goesOnUntil(1_000)))).toBe(1);
  });

  it('accepts a grant past a waiter that cancelled, timed out or died', () => {
    const newcomer = granted(30, 'c', 2);
    for (const end of [cancelled(25, 'b'), ended(25, 'b', 'ABORTED/CONTENDED'), killed(25, 'b')]) {
      expect(found(written(...first, end, newcomer, goesOnUntil(1_000)))).toBe(0);
    }
  });

  it('accepts a grant past the waiters of a paused server, but not past waiters during a stall of the store', () => {
    const passed = [...first, granted(9_000, 'c', 2), granted(9_010, 'b', 3)] as const;
    expect(found(written(...passed, fault('redis_stopped', 15, 7_000)))).toBe(1);
    expect(found(written(...passed, fault('server_stopped', 15, 7_000, { clients: ['b'] })))).toBe(0);
    expect(found(written(...passed, fault('server_stopped', 15, 7_000, { clients: ['a', 'c'] })))).toBe(1);
  });

  it('protects the place of a waiter that returns in time, from its return on', () => {
    const away = [holds(0, 'a', 1), waits(10, 'b'), asked(20, 'c'), ended(30, 'b', 'UNAVAILABLE')];
    const call = 'b again';
    const back = (atMs: number) => [asked(atMs, 'b', { call }), queued(atMs + 1, 'b', call)];
    const grants = [granted(600, 'c', 2), granted(700, 'b', 3, { call })];
    expect(found(written(away, back(40), releases(500, 'a', 1), ...grants))).toBe(1);
    expect(found(written(away, back(550), releases(500, 'a', 1), ...grants))).toBe(0);
  });

  it('does not protect the place of a wait that was answered', () => {
    const call = 'b again';
    const timedOut = [holds(0, 'a', 1), waits(10, 'b'), asked(20, 'c'), ended(30, 'b', 'ABORTED/CONTENDED')];
    const back = [asked(40, 'b', { call }), queued(41, 'b', call), releases(500, 'a', 1)];
    expect(found(written(timedOut, back, granted(600, 'c', 2), granted(700, 'b', 3, { call })))).toBe(0);
  });

  it('accepts a lower place of a repeated request when the store stalled between its two calls', () => {
    const call = 'b again';
    const events = [holds(0, 'a', 1), asked(10, 'b'), ended(2_010, 'b', 'UNAVAILABLE/OUTCOME_UNKNOWN')];
    const back = [asked(2_100, 'b', { call }), queued(5_001, 'b', call), asked(5_002, 'c')];
    const grants = [granted(5_100, 'c', 2), granted(5_200, 'b', 3, { call })];
    expect(found(written(events, back, grants, fault('redis_stopped', 5, 5_000)))).toBe(0);
    expect(found(written(events, back, grants))).toBe(1);
  });
});

describe('the lost-wake-up checker', () => {
  const found = (history: History) => messages('lost_wake_up', history).length;
  const given = [holds(0, 'a', 1), waits(10, 'b'), releases(1_000, 'a', 1)] as const;

  it('allows one second plus the latency between a release and the next grant', () => {
    expect(found(written(...given, granted(2_010, 'b', 2)))).toBe(0);
    expect(found(written(...given, granted(2_011, 'b', 2)))).toBe(1);
  });

  it('counts the time from the latest possible end of the lease', () => {
    const unreleased = [holds(0, 'a', 1, { rpc: 'acquire', ttlMs: 3_000 }), waits(10, 'b')] as const;
    expect(found(written(...unreleased, granted(4_010, 'b', 2)))).toBe(0);
    expect(found(written(...unreleased, granted(4_012, 'b', 2)))).toBe(1);
    const stream = [holds(0, 'a', 1, { ttlMs: 3_000 }), waits(10, 'b')] as const;
    expect(found(written(...stream, granted(60_000, 'b', 2)))).toBe(0);
    expect(found(written(...stream, killed(5_000, 'a'), granted(9_012, 'b', 2)))).toBe(1);
  });

  it('does not count the time of a fault and its consequences', () => {
    const grant = granted(12_000, 'b', 2);
    expect(found(written(...given, fault('redis_stopped', 1_500, 4_000), grant))).toBe(0);
    expect(found(written(...given, fault('redis_stopped', 2_100, 4_000), grant))).toBe(1);
    expect(found(written(...given, fault('scripts_flushed', 1_500, 4_000), grant))).toBe(1);
  });

  it('counts permits as free only if the waiter with the most permits fits', () => {
    const name = SEMAPHORE;
    const busy = [limit(0, name, 3), holds(1, 'a', 1, { name, permits: 2 })];
    const heavy = [asked(10, 'b', { name, permits: 2 }), queued(11, 'b')];
    const light = [asked(20, 'c', { name }), queued(21, 'c')];
    expect(found(written(busy, heavy, light, goesOnUntil(5_000)))).toBe(0);
    expect(found(written(busy, light, goesOnUntil(5_000)))).toBe(1);
  });

  it('does not count a request without a wait, a dead waiter or a paused waiter', () => {
    const free = [holds(0, 'a', 1), releases(1, 'a', 1)] as const;
    expect(found(written(...free, asked(10, 'b', { waitMs: 0 }), goesOnUntil(5_000)))).toBe(0);
    expect(found(written(...free, waits(10, 'b'), killed(500, 'b'), goesOnUntil(5_000)))).toBe(0);
    const pause = fault('client_stopped', 500, 4_900, { clients: ['b'] });
    expect(found(written(...free, waits(10, 'b'), pause, goesOnUntil(5_000)))).toBe(0);
    expect(found(written(...free, waits(10, 'b'), goesOnUntil(5_000)))).toBe(1);
  });

  it('assumes a hidden grant for a waiter that died at the moment of the release, and none for an earlier death', () => {
    const dying = (diedMs: number) =>
      written(
        holds(0, 'a', 1),
        [asked(10, 'b', { ttlMs: 4_000 }), queued(11, 'b')],
        waits(20, 'c'),
        killed(diedMs, 'b'),
        releases(1_000, 'a', 1),
        granted(4_900, 'c', 2),
      );
    expect(found(dying(1_001))).toBe(0);
    expect(found(dying(900))).toBe(1);
  });
});

describe('the recovery checker', () => {
  const found = (history: History) => messages('recovery', history).length;
  const unary = [holds(0, 'a', 1, { rpc: 'acquire', ttlMs: 3_000 }), waits(10, 'b')] as const;

  it("allows 250 ms plus the latency between the end of a killed holder's lease and the next grant", () => {
    expect(found(written(...unary, killed(500, 'a'), granted(3_260, 'b', 2)))).toBe(0);
    expect(found(written(...unary, killed(500, 'a'), granted(3_261, 'b', 2)))).toBe(1);
  });

  it("sets no bound after the end of a live holder's lease", () => {
    expect(found(written(...unary, granted(3_900, 'b', 2)))).toBe(0);
  });

  it('adds the keep-alive time if the holder is a paused client with a stream', () => {
    const stream = [holds(0, 'a', 1, { ttlMs: 3_000 }), waits(10, 'b')] as const;
    const pause = fault('client_stopped', 1_000, 30_000, { clients: ['a'] });
    expect(found(written(...stream, pause, granted(6_250, 'b', 2)))).toBe(0);
    expect(found(written(...stream, pause, granted(6_281, 'b', 2)))).toBe(1);
  });

  it('allows eight seconds to the next grant after a server was killed', () => {
    const events = [...unary, releases(1_000, 'a', 1), fault('server_killed', 1_001, 1_001)] as const;
    expect(found(written(...events, granted(8_900, 'b', 2)))).toBe(0);
    expect(found(written(...events, granted(9_100, 'b', 2)))).toBe(1);
  });

  it('counts from the end of the lease that was observed in Redis after the holder was killed', () => {
    const stream = [holds(0, 'a', 1, { ttlMs: 3_000 }), waits(10, 'b'), killed(2_000, 'a')] as const;
    expect(found(written(...stream, granted(4_500, 'b', 2)))).toBe(0);
    expect(found(written(...stream, observed(2_500, 1, 1_000), granted(4_500, 'b', 2)))).toBe(1);
  });
});

describe('the dead-grant checker', () => {
  const found = (history: History) => messages('dead_grant', history);

  it('reports a grant that arrives after its deadline without a fault', () => {
    const late = [asked(0, 'a', { ttlMs: 500 }), granted(900, 'a', 1, { sentMs: 0, deadlineMs: 500 })];
    expect(found(written(late))[0]).toMatch('arrived');
    expect(found(written(late, fault('server_stopped', 100, 890)))).toEqual([]);
  });

  it('accepts a late grant after a wait if a fault may have delayed the call, and not if it came during the wait', () => {
    // The server receives the call after 2 s, and grants after a wait of 15 s.
    const late = [
      asked(0, 'a', { ttlMs: 500 }),
      granted(17_001, 'a', 1, { sentMs: 0, madeMs: 15_000, ttlMs: 500 }),
    ];
    expect(found(written(late))[0]).toMatch('arrived 1501 ms after its deadline');
    for (const kind of ['client_stopped', 'server_stopped', 'link_cut'] as const) {
      expect(found(written(late, fault(kind, 1, 2_000)))).toEqual([]);
      expect(found(written(late, fault(kind, 2_100, 3_000)))).toHaveLength(1);
    }
    expect(found(written(late, fault('redis_stopped', 1, 2_000)))).toHaveLength(1);
    expect(found(written(late, fault('client_stopped', 1, 2_000, { clients: ['b'] })))).toHaveLength(1);
  });

  describe('for a late grant without a fault', () => {
    const late = [
      asked(5_000, 'a', { ttlMs: 500 }),
      granted(7_300, 'a', 1, { sentMs: 5_000, madeMs: 5_000, ttlMs: 500 }),
    ];
    const other = (sentMs: number, answeredMs: number) => [
      holds(0, 'b', 2, { name: 'other' }),
      releases(sentMs, 'b', 2, { answeredMs }),
    ];

    it('accepts a grant that is late while another call takes as long, because the server may have read the call late', () => {
      expect(found(written(late, other(5_200, 7_000)))).toEqual([]);
    });

    it('reports a grant that is late while all other calls are quicker, failed, or come before or afterwards', () => {
      expect(found(written(late, other(5_200, 6_900)))).toHaveLength(1);
      expect(found(written(late, other(2_000, 4_900)))).toHaveLength(1);
      expect(found(written(late, other(7_400, 9_900)))).toHaveLength(1);
      const [taken, [sent]] = [holds(0, 'b', 2, { name: 'other' }), releases(5_200, 'b', 2)];
      const failure = ended(7_000, 'b', 'UNAVAILABLE', 'release by b at 5200');
      expect(found(written(late, taken, sent ?? [], failure))).toHaveLength(1);
    });

    it('reports a grant that is late after a wait, while another call takes as long only during the answer', () => {
      const waited = [
        asked(1_000, 'a', { ttlMs: 500 }),
        granted(7_300, 'a', 1, { sentMs: 1_000, madeMs: 5_000, ttlMs: 500 }),
      ];
      expect(found(written(waited, other(5_200, 7_200)))).toHaveLength(1);
      expect(found(written(waited, other(1_200, 3_200)))).toEqual([]);
    });

    it('reports a grant that is late while only a paused client gets its answer as late', () => {
      const pause = fault('client_stopped', 5_300, 6_900, { clients: ['b'] });
      expect(found(written(late, other(5_200, 7_000), pause))).toHaveLength(1);
    });
  });

  it('accepts an offer that nobody claims for at most 3 s', () => {
    const offered = (untilMs: number) => written(holds(0, 'a', 1), holders(500, 1, 7), holders(untilMs, 7));
    expect(found(offered(3_500))).toEqual([]);
    expect(found(offered(3_600))[0]).toMatch('token 7 was held');
  });

  it('names the ended request that blocks waiters behind it', () => {
    const events = [holds(0, 'a', 1), waits(10, 'b'), waits(20, 'c'), cancelled(500, 'b')] as const;
    expect(found(written(...events, releases(1_000, 'a', 1), granted(4_000, 'c', 2)))).toEqual([]);
    expect(found(written(...events, releases(1_000, 'a', 1), granted(4_100, 'c', 2)))[0]).toMatch(
      'behind the dead request of b',
    );
  });
});

describe('the leak checker', () => {
  const found = (history: History) => messages('leak', history);

  it('reports permits that cannot be acquired when no client holds any', () => {
    expect(found(written(probed(0, 3, 3)))).toEqual([]);
    expect(found(written(probed(0, 3, 2)))[0]).toMatch('only 2 of 3');
  });

  it('reports keys and gauges that are above the baseline at the end', () => {
    const before = residue(0, 'baseline', ['known'], { timers: 2 });
    expect(found(written(before, residue(9, 'rest', ['known'], { timers: 1 })))).toEqual([]);
    const leaks = found(written(before, residue(9, 'rest', ['known', 'new'], { timers: 3, sockets: 1 })));
    expect(leaks).toEqual([
      '1 keys are left, such as new',
      'timers is 3, and was 2',
      'sockets is 1, and was 0',
    ]);
  });
});
