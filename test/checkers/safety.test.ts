import { checkAll } from '../support/checkers/check-all';
import type { Invariant } from '../support/checkers/violation';
import { FAULT_KINDS, type History } from '../support/history';
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
