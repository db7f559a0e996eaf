import { checkAll } from '../support/checkers/check-all';
import type { Invariant } from '../support/checkers/violation';
import {
  compareEvents,
  type EventBody,
  FAULT_KINDS,
  type History,
  type HistoryEvent,
  type Micros,
} from '../support/history';
import {
  asked,
  ended,
  fault,
  goesOnUntil,
  granted,
  holds,
  killed,
  limit,
  lost,
  observed,
  releases,
  renewed,
  revokes,
  written,
} from './written-history';

const SEMAPHORE = 'semaphore';

function messages(invariant: Invariant, history: History): string[] {
  return checkAll(history, { only: [invariant] }).violations.map((violation) => violation.message);
}

function holdsPermits(atMs: number, client: string, token: number, permits = 1) {
  return holds(atMs, client, token, { name: SEMAPHORE, permits });
}

describe('the exclusion checker', () => {
  const found = (history: History) => messages('exclusion', history).length;

  it('accepts a grant that is received when the release is sent', () => {
    expect(found(written(holds(0, 'a', 1), releases(100, 'a', 1), holds(100, 'b', 2)))).toBe(0);
  });

  it('reports a grant that is received before the release is sent', () => {
    expect(found(written(holds(0, 'a', 1), releases(100, 'a', 1), holds(99.999, 'b', 2)))).toBe(1);
  });

  it('counts a holder until its LOST event, its deadline or its SIGKILL', () => {
    const next = holds(5_000, 'b', 2);
    expect(found(written(holds(0, 'a', 1), lost(5_000, 'a', 1, 'STORE_RESET'), next))).toBe(0);
    expect(found(written(holds(0, 'a', 1, { ttlMs: 5_000 }), next))).toBe(0);
    expect(found(written(holds(0, 'a', 1), killed(5_000, 'a'), next))).toBe(0);
  });

  it('still counts a holder after SIGSTOP and after the end of its stream', () => {
    const pause = fault('client_stopped', 1_000, 9_000, { clients: ['a'] });
    expect(found(written(holds(0, 'a', 1), pause, holds(5_000, 'b', 2)))).toBe(1);
    expect(found(written(holds(0, 'a', 1), ended(100, 'a', 'UNAVAILABLE'), holds(5_000, 'b', 2)))).toBe(1);
  });

  it('counts a holder until the latest of its deadlines', () => {
    const renewal = renewed(8_000, 'a', 1);
    expect(found(written(holds(0, 'a', 1), renewal, holds(17_999, 'b', 2)))).toBe(1);
    expect(found(written(holds(0, 'a', 1), renewal, holds(18_000, 'b', 2)))).toBe(0);
  });

  it('ignores a grant that arrived after its deadline', () => {
    const dead = [asked(0, 'a'), granted(12_000, 'a', 1, { sentMs: 0, deadlineMs: 10_000 })];
    expect(found(written(dead, holds(11_000, 'b', 2), releases(13_000, 'b', 2)))).toBe(0);
  });

  it('accepts several shared holders, and reports an exclusive holder beside them', () => {
    const shared = [holds(0, 'a', 1, { mode: 'shared' }), holds(1, 'b', 2, { mode: 'shared' })] as const;
    expect(found(written(...shared))).toBe(0);
    expect(found(written(...shared, holds(2, 'c', 3)))).toBe(1);
  });

  it('ignores a lease that was revoked with force, and still counts a lease that was revoked without force', () => {
    const next = holds(5_000, 'b', 2);
    expect(found(written(holds(0, 'a', 1), revokes(4_000, 1, true), next))).toBe(0);
    expect(found(written(holds(0, 'a', 1), revokes(4_000, 1, false), next))).toBe(1);
  });

  it('reports the next holder before the deadline of a lease that was revoked without force, also after LOST', () => {
    const told = lost(4_001, 'a', 1, 'REVOKED');
    const next = (atMs: number) => holds(atMs, 'b', 2);
    expect(found(written(holds(0, 'a', 1), revokes(4_000, 1, false), told, next(5_000)))).toBe(1);
    expect(found(written(holds(0, 'a', 1), revokes(4_000, 1, false), told, next(10_000)))).toBe(0);
    const released = releases(4_500, 'a', 1);
    expect(found(written(holds(0, 'a', 1), revokes(4_000, 1, false), told, released, next(5_000)))).toBe(0);
    expect(found(written(holds(0, 'a', 1), revokes(4_000, 1, true), told, next(5_000)))).toBe(0);
  });

  it('ignores a lease only if its keys were deleted manually after its grant', () => {
    const next = holds(5_000, 'b', 2);
    expect(found(written(holds(0, 'a', 1), fault('redis_deleted', 2_000, 2_001), next))).toBe(0);
    expect(found(written(fault('redis_deleted', 0, 1), holds(100, 'a', 1), next))).toBe(1);
    const elsewhere = fault('redis_deleted', 2_000, 2_001, { names: ['other'] });
    expect(found(written(holds(0, 'a', 1), elsewhere, next))).toBe(1);
  });

  it('reports two holders during any fault except a manual deletion of keys', () => {
    for (const kind of FAULT_KINDS.filter((kind) => kind !== 'redis_deleted')) {
      const two = written(holds(0, 'a', 1), fault(kind, 2_000, 2_001), holds(5_000, 'b', 2));
      expect([kind, found(two)]).toEqual([kind, 1]);
    }
  });
});

describe('the over-issue checker', () => {
  const found = (history: History) => messages('over_issue', history).length;

  it('reports a grant over the limit during any fault except a manual deletion of keys', () => {
    const full = [limit(0, SEMAPHORE, 1), holdsPermits(10, 'a', 1)] as const;
    for (const kind of FAULT_KINDS.filter((kind) => kind !== 'redis_deleted')) {
      const more = written(...full, fault(kind, 2_000, 2_001), holdsPermits(2_100, 'b', 2));
      expect([kind, found(more)]).toEqual([kind, 1]);
    }
  });

  it('accepts leases of several permits up to the limit, and reports a grant over the limit', () => {
    const full = [limit(0, SEMAPHORE, 5), holdsPermits(10, 'a', 1, 2), holdsPermits(20, 'b', 2, 3)] as const;
    expect(found(written(...full))).toBe(0);
    expect(found(written(...full, holdsPermits(30, 'c', 3)))).toBe(1);
  });

  it('accepts a grant that is made before the limit is lowered, and arrives afterwards', () => {
    const late = granted(200, 'b', 2, { name: SEMAPHORE, sentMs: 20, madeMs: 99 });
    const events = [limit(0, SEMAPHORE, 2), holdsPermits(10, 'a', 1), asked(20, 'b', { name: SEMAPHORE })];
    expect(found(written(...events, limit(100, SEMAPHORE, 1, 110), late))).toBe(0);
  });

  it('reports a grant over a lowered limit if the request came after the change', () => {
    const events = [limit(0, SEMAPHORE, 2), holdsPermits(10, 'a', 1), limit(100, SEMAPHORE, 1, 110)];
    expect(found(written(...events, holdsPermits(111, 'b', 2)))).toBe(1);
  });

  it('reports a grant to an earlier waiter if no permit became free until after the limit was lowered', () => {
    const events = [
      limit(0, SEMAPHORE, 2),
      holdsPermits(10, 'a', 1),
      holdsPermits(20, 'b', 2),
      asked(30, 'c', { name: SEMAPHORE }),
      limit(100, SEMAPHORE, 1, 110),
      releases(500, 'a', 1),
    ];
    const third = granted(510, 'c', 3, { name: SEMAPHORE, sentMs: 30 });
    expect(found(written(...events, third))).toBe(1);
    expect(found(written(...events, limit(400, SEMAPHORE, 2, 410), third))).toBe(0);
  });

  it('allows the former limit after the store may have lost a change, until the limit is set again', () => {
    const lowered = [limit(0, SEMAPHORE, 2), limit(100, SEMAPHORE, 1, 110), holdsPermits(200, 'a', 1)];
    const second = holdsPermits(20_000, 'b', 3);
    const heldOn = holdsPermits(19_000, 'c', 2);
    expect(found(written(...lowered, heldOn, second))).toBe(1);
    const lost = (atMs: number) => fault('redis_lost_writes', atMs, atMs + 10, { excuses: [] });
    expect(found(written(...lowered, lost(5_000), heldOn, second))).toBe(0);
    expect(found(written(...lowered, lost(18_000), heldOn, second))).toBe(1);
    const again = limit(6_000, SEMAPHORE, 1, 6_010);
    expect(found(written(...lowered, lost(5_000), again, heldOn, second))).toBe(1);
  });

  it('reports a claim after the limit was lowered, even if the permit became free before', () => {
    const events = [
      limit(0, SEMAPHORE, 2),
      holdsPermits(10, 'a', 1),
      holdsPermits(20, 'b', 2),
      asked(30, 'c', { name: SEMAPHORE }),
      releases(50, 'b', 2),
      limit(100, SEMAPHORE, 1, 110),
    ];
    const claimed = (madeMs: number) => granted(300, 'c', 3, { name: SEMAPHORE, sentMs: 30, madeMs });
    expect(found(written(...events, claimed(111)))).toBe(1);
    expect(found(written(...events, claimed(109)))).toBe(0);
    const again = asked(40, 'c', { name: SEMAPHORE, call: 'c again' });
    expect(found(written(...events, again, claimed(111)))).toBe(0);
    expect(found(written(...events, fault('reply_dropped', 120, 121), claimed(111)))).toBe(0);
  });

  it('reports each grant over the limit only once', () => {
    const full = [limit(0, SEMAPHORE, 1), holdsPermits(10, 'a', 1), holdsPermits(20, 'b', 2, 1)] as const;
    expect(found(written(...full, goesOnUntil(100)))).toBe(1);
  });

  it('ignores a limit change that was refused', () => {
    const events = [limit(0, SEMAPHORE, 2), holdsPermits(10, 'a', 1)];
    expect(found(written(...events, limit(50, SEMAPHORE, 1, 60, false), holdsPermits(70, 'b', 2)))).toBe(0);
  });
});

describe('the fencing checker', () => {
  const found = (history: History) => messages('fencing', history);

  it('compares two tokens only if the first was received before the second was requested', () => {
    const first = [asked(0, 'a'), granted(100, 'a', 7, { sentMs: 0 })];
    expect(found(written(first, holds(50, 'b', 6)))).toEqual([]);
    expect(found(written(first, holds(101, 'b', 6)))).toHaveLength(1);
  });

  it('reports one token for two leases, and two tokens for one lease', () => {
    const second = [asked(0, 'b'), granted(10, 'b', 5, { lease: 'another' })];
    expect(found(written(holds(0, 'a', 5), second))[0]).toMatch('two leases');
    const changed = granted(20, 'a', 6, { lease: 'lease 5' });
    expect(found(written(holds(0, 'a', 5), changed))[0]).toMatch('came with token 5 and then 6');
  });

  it('reports a lower token of a later grant during any fault', () => {
    for (const kind of FAULT_KINDS) {
      const back = written(holds(0, 'a', 9), fault(kind, 10, 11), holds(20, 'b', 2));
      expect([kind, found(back).length]).toEqual([kind, 1]);
    }
  });
});

describe('the truthful-offset checker', () => {
  const found = (history: History) => messages('truthful_offset', history);

  it('allows for the time that an observation of Redis takes', () => {
    const hold = holds(0, 'a', 1);
    expect(found(written(hold, observed(4_000, 1, 6_000)))).toEqual([]);
    expect(found(written(hold, observed(4_000, 1, 5_900)))[0]).toMatch('past its end in Redis');
    expect(found(written(hold, observed(4_000, 1, 5_900, 200)))).toHaveLength(1);
    expect(found(written(hold, observed(4_100, 1, 5_900, 200)))).toEqual([]);
  });

  it('reports a renewal that shortened the lease', () => {
    const events = [holds(0, 'a', 1), renewed(1_000, 'a', 1, { ttlMs: 500 })];
    expect(found(written(...events, observed(1_100, 1, 400)))).toHaveLength(1);
  });

  it('reports a lease that Redis does not have although the client believes in it', () => {
    expect(found(written(holds(0, 'a', 1), observed(100, 1, null)))[0]).toMatch('does not have it');
    expect(found(written(holds(0, 'a', 1), releases(90, 'a', 1), observed(100, 1, null)))).toEqual([]);
  });

  it('reports a client that believes in its lease longer than the deadline rule allows', () => {
    const late = granted(1_000, 'a', 1, { sentMs: 0, deadlineMs: 12_000 });
    expect(found(written(asked(0, 'a'), late))[0]).toMatch('longer than the deadline rule');
  });
});

describe('the checkers, with sessions', () => {
  /** A client with one lease: a ttl of 1 s, and heartbeat n at n × 100 ms. Times are milliseconds. */
  const TTL_US: Micros = 1_000_000;
  const LEASE = { name: 'lock', requestId: 'request', token: 1, permitCount: 1 } as const;

  type At = readonly [atMs: number, body: EventBody];

  function history(...events: readonly At[]): History {
    const stamped = events.map(([atMs, body], seq) => ({ at: atMs * 1000, source: 'written', seq, ...body }));
    return (stamped as HistoryEvent[]).sort(compareEvents);
  }

  function messages(invariant: Invariant, events: History): string[] {
    const checked = checkAll(events, { latencyUs: 10_000, only: [invariant] });
    return checked.violations.map(({ message }) => message);
  }

  const of = (call: string) => ({ client: 'a', call });
  const opened = (atMs: number, number: number): At => [
    atMs,
    { type: 'session_opened', client: 'a', session: `s${number}`, number },
  ];
  const closed = (atMs: number, number: number): At => [
    atMs,
    { type: 'session_ended', client: 'a', session: `s${number}`, code: 'CANCELLED', reason: null },
  ];
  function asked(atMs: number, call: string, number: number, rpc: 'hold' | 'attach' = 'hold'): At {
    const requestId = rpc === 'hold' ? LEASE.requestId : null;
    const lease = rpc === 'hold' ? null : 'lease';
    const waits = { mode: 'exclusive', permitCount: 1, ttlUs: TTL_US, waitTimeoutUs: 1_000_000 } as const;
    const body = { rpc, session: `s${number}`, name: LEASE.name, requestId, lease, ...waits };
    return [atMs, { type: 'asked', ...of(call), ...body }];
  }
  /** An answer about the lease. The store command of this answer was sent at `madeMs`. */
  function believed(call: string, beat: number, madeMs: number) {
    const t0 = beat * 100_000;
    const expireOffsetUs = madeMs * 1000 - t0 + TTL_US;
    const lease = { lease: 'lease', ttlUs: TTL_US };
    return { ...of(call), ...lease, t0, heartbeat: beat, expireOffsetUs, deadline: t0 + expireOffsetUs };
  }
  const granted = (atMs: number, call: string, beat = 0): At => [
    atMs,
    { type: 'granted', ...LEASE, ...believed(call, beat, atMs) },
  ];
  const renewed = (atMs: number, call: string, beat: number, madeMs = atMs): At => [
    atMs,
    { type: 'renewed', ...believed(call, beat, madeMs) },
  ];
  const ended = (atMs: number, call: string, reason: string): At => [
    atMs,
    { type: 'ended', ...of(call), code: 'ABORTED', reason },
  ];
  const letGo = (atMs: number, call: string, reason: 'deadline' | 'release'): At => [
    atMs,
    { type: 'let_go', ...of(call), lease: 'lease', reason },
  ];

  describe('the session checker', () => {
    const found = (...events: readonly At[]) => messages('session', history(...events));
    const held = [opened(0, 1), asked(1, 'one', 1), granted(2, 'one')];

    it('reports each message that the contract forbids', () => {
      const broken = { type: 'contract_broken', client: 'a', what: 'two ends' } as const;
      expect(found(...held, [10, broken])).toEqual(['two ends']);
    });

    it('reports a renewal that was sent after a silence of more than the ttl', () => {
      expect(found(...held, renewed(1090, 'one', 1))).toEqual([]);
      expect(found(...held, renewed(1150, 'one', 1))).toEqual([
        'token 1 was renewed 1050 ms after the last heartbeat, longer than its ttl',
      ]);
    });

    it('takes the grant of an attach for a sign of life, also if the client has let the lease go before', () => {
      const ignored = (atMs: number, attached: boolean): At => [
        atMs,
        { type: 'renewal_ignored', attached, ...believed('two', 1, atMs) },
      ];
      const attached = [...held, letGo(5, 'one', 'release'), asked(1140, 'two', 1, 'attach')];
      expect(found(...attached, ignored(1150, true), ignored(2160, false))).toEqual([]);
      expect(found(...attached, ignored(1150, false))).toHaveLength(1);
      expect(found(...attached, ignored(1150, true), ignored(3200, false))).toHaveLength(1);
    });

    it('reports a command without an answer, unless its session has ended', () => {
      const until = (atMs: number): At => [atMs, { type: 'killed', client: 'nobody' }];
      expect(found(opened(0, 1), asked(1, 'one', 1), until(5000))).toEqual([
        'one had no answer within 4010 ms, although its session was open',
      ]);
      expect(found(opened(0, 1), asked(1, 'one', 1), closed(3000, 1), until(5000))).toEqual([]);
    });

    const moved = [...held, opened(10, 2), asked(11, 'two', 2, 'attach'), granted(20, 'two')];

    it('reports a renewal for a session after a newer session has attached', () => {
      expect(found(...moved, renewed(30, 'one', 0, 15))).toEqual([]);
      expect(found(...moved, renewed(30, 'one', 0, 25))).toEqual([
        'token 1 was renewed for a call after a later call had attached',
      ]);
    });

    it('reports SUPERSEDED without another call that asked for the lease', () => {
      expect(found(...moved, ended(30, 'one', 'SUPERSEDED'))).toEqual([]);
      expect(found(...held, ended(30, 'one', 'SUPERSEDED'))).toEqual([
        'token 1 ended with SUPERSEDED, and no other call has asked for it and kept it',
      ]);
    });

    it('reports SUPERSEDED for a newer session if only an older session has asked for the lease', () => {
      expect(found(...moved, ended(30, 'two', 'SUPERSEDED'))).toEqual([
        'token 1 ended with SUPERSEDED, and no other call has asked for it and kept it',
      ]);
    });

    it('reports no take-over that the store may have lost with its last writes', () => {
      const late = asked(35, 'three', 1, 'attach');
      const lost = (atMs: number): At => [
        atMs,
        { type: 'fault_started', fault: 'f', kind: 'redis_lost_writes', what: 'restarted' },
      ];
      const ends = [ended(40, 'two', 'SUPERSEDED')];
      expect(found(...moved, lost(30), ...ends)).toEqual([]);
      expect(found(...moved, lost(30), late, granted(50, 'three'))).toEqual([]);
      expect(found(...moved, lost(30), renewed(40, 'one', 0, 35))).toEqual([]);
      expect(found(...moved, ...ends, lost(45))).toHaveLength(1);
    });

    it('reports two streams that have both ended with SUPERSEDED, unless a third has asked for the lease', () => {
      // A call of a session that the history does not know counts as a stream.
      const stream = (atMs: number, call: string): At => asked(atMs, call, 0);
      const both = [stream(0, 'one'), granted(2, 'one'), stream(3, 'two'), granted(5, 'two')];
      const ends = [ended(9, 'one', 'SUPERSEDED'), ended(20, 'two', 'SUPERSEDED')];
      expect(found(...both, ended(9, 'one', 'SUPERSEDED'))).toEqual([]);
      expect(found(...both, ...ends)).toEqual([
        'token 1 ended with SUPERSEDED, and no other call has asked for it and kept it',
      ]);
      expect(found(...both, ...ends, stream(10, 'three'), granted(15, 'three'))).toEqual([]);
    });

    it('reports an older session that takes a lease back from a newer session', () => {
      const late = asked(30, 'three', 1, 'attach');
      expect(found(...moved, late, ended(40, 'three', 'SUPERSEDED'))).toEqual([]);
      expect(found(...moved, late, granted(40, 'three'))).toEqual([
        'token 1 was taken back by an older session',
      ]);
    });
  });

  test('the false_loss checker reports a lease that was not renewed before its deadline without a fault', () => {
    const held = [opened(0, 1), asked(1, 'one', 1), granted(2, 'one')];
    const past = letGo(1003, 'one', 'deadline');
    expect(messages('false_loss', history(...held, past))).toEqual([
      'token 1 was not renewed before its deadline, and no event explains that',
    ]);
    const silent = { type: 'fault_started', fault: 'f', kind: 'client_silent', what: 'silent' } as const;
    expect(messages('false_loss', history(...held, [500, silent], past))).toEqual([]);
  });

  test('the resurrection checker reports a renewal after the answer to a release, which the client ignores', () => {
    const released = { type: 'release_answered', ...of('release'), lease: 'lease', released: true } as const;
    const events = history(
      ...[opened(0, 1), asked(1, 'one', 1), granted(2, 'one'), letGo(10, 'one', 'release')],
      [11, { type: 'release_asked', ...of('release'), lease: 'lease' }],
      [20, { ...released, lossCause: null }],
      [40, { type: 'renewal_ignored', ...believed('one', 0, 30) }],
    );
    expect(messages('resurrection', events)).toEqual(['token 1 was renewed after its certain end']);
  });
});
