import { checkAll } from '../support/checkers/check-all';
import type { CheckOptions, Invariant } from '../support/checkers/violation';
import type { History } from '../support/history';
import {
  asked,
  ended,
  fault,
  goesOnUntil,
  granted,
  holds,
  lost,
  releasedByStream,
  releases,
  renewed,
  renewsByCall,
  revoked,
  revokes,
  written,
  type Written,
} from './written-history';

const SHARP: Partial<CheckOptions> = { latencyUs: 10_000 };
const TTL_MS = 3_000;

function messages(invariant: Invariant, history: History): string[] {
  const { violations } = checkAll(history, { ...SHARP, only: [invariant] });
  return violations.map((violation) => violation.message);
}

const stream = holds(0, 'a', 1, { ttlMs: TTL_MS });

describe('the loss checker', () => {
  const found = (history: History) => messages('loss', history);

  it('reports a LOST event that arrives after the next grant of the lock', () => {
    const told = lost(2_000, 'a', 1, 'STORE_RESET');
    expect(
      found(written(stream, told, ended(2_000, 'a', 'ABORTED/LEASE_LOST'), holds(2_001, 'b', 2))),
    ).toEqual([]);
    expect(
      found(written(stream, told, ended(2_000, 'a', 'ABORTED/LEASE_LOST'), holds(1_999, 'b', 2)))[0],
    ).toMatch('received LOST after token 2');
  });

  it('reports a live stream that receives no event for longer than the TTL', () => {
    expect(found(written(stream, goesOnUntil(4_010)))).toEqual([]);
    expect(found(written(stream, goesOnUntil(4_011)))[0]).toMatch('silent');
    expect(found(written(stream, renewed(1_000, 'a', 1, { ttlMs: TTL_MS }), goesOnUntil(5_010)))).toEqual([]);
    const cut = fault('link_cut', 1_000, 9_000, { clients: ['a'] });
    expect(found(written(stream, cut, goesOnUntil(9_500)))).toEqual([]);
  });

  it('reports a stream that receives no LOST event within one renewal interval after the store lost the lease', () => {
    const flushed = [stream, fault('redis_flushed', 100, 101)] as const;
    expect(found(written(flushed, goesOnUntil(2_111)))).toEqual([]);
    expect(found(written(flushed, goesOnUntil(2_112)))[0]).toMatch('silent');
    expect(found(written(flushed, fault('redis_stopped', 200, 2_000), goesOnUntil(2_200)))).toEqual([]);
  });

  it('lets the holder of a lease that was revoked without force release the lease', () => {
    const events = [
      lost(1_000, 'a', 1, 'REVOKED'),
      ended(1_000, 'a', 'ABORTED/LEASE_LOST'),
      releases(1_100, 'a', 1),
    ];
    expect(found(written(stream, revokes(900, 1, false), events))).toEqual([]);
    expect(found(written(stream, revokes(900, 1, true), events))).toHaveLength(1);
    expect(found(written(stream, revokes(900, 2, false), events))).toHaveLength(1);
  });

  it('reports a grant that ends both by a release and by a loss, or by two losses', () => {
    const both = [stream, releases(1_000, 'a', 1), lost(1_001, 'a', 1, 'REVOKED')];
    expect(found(written(both, ended(1_001, 'a', 'ABORTED/LEASE_LOST')))[0]).toMatch(
      'both by release and by loss',
    );
    const twice = [stream, lost(1_000, 'a', 1, 'REVOKED'), lost(1_001, 'a', 1, 'EXPIRED')];
    expect(found(written(twice))).toEqual(
      expect.arrayContaining([
        expect.stringMatching('several causes'),
        expect.stringMatching('received lost after its end'),
      ]),
    );
  });

  it('accepts a late release of a lease that was reported lost during a stall of the store', () => {
    const given = [
      stream,
      lost(TTL_MS, 'a', 1, 'STORE_UNAVAILABLE'),
      ended(TTL_MS, 'a', 'ABORTED/LEASE_LOST'),
    ];
    const late = releases(4_000, 'a', 1);
    expect(found(written(given, late, fault('redis_stopped', 500, 3_500)))).toEqual([]);
    expect(found(written(given, late))[0]).toMatch('both by release and by loss');
  });

  it('accepts a release of a lost lease that was too short for the latency allowance', () => {
    const given = [
      holds(0, 'a', 1, { ttlMs: 9 }),
      lost(9, 'a', 1, 'STORE_UNAVAILABLE'),
      ended(9, 'a', 'ABORTED/LEASE_LOST'),
    ];
    expect(found(written(given, releases(10, 'a', 1)))).toEqual([]);
  });

  it('reports a stream status that contradicts the last event', () => {
    expect(found(written(stream, ended(100, 'a', 'OK')))[0]).toMatch('without the matching event');
    expect(found(written(stream, ended(100, 'a', 'ABORTED/LEASE_LOST')))[0]).toMatch(
      'without the matching event',
    );
    expect(found(written(stream, ended(100, 'a', 'UNAVAILABLE/REATTACH')))).toEqual([]);
    const released = [releases(90, 'a', 1), releasedByStream(95, 'a', 1), ended(96, 'a', 'OK')];
    expect(found(written(stream, released))).toEqual([]);
  });
});

describe('the false-loss checker', () => {
  const found = (history: History) => messages('false_loss', history);

  it('accepts a loss by timeout only at the deadline, and only with a fault that explains the loss', () => {
    const stalled = fault('redis_stopped', 500, 5_000);
    expect(found(written(stream, stalled, lost(TTL_MS, 'a', 1, 'STORE_UNAVAILABLE')))).toEqual([]);
    expect(found(written(stream, stalled, lost(2_900, 'a', 1, 'STORE_UNAVAILABLE')))[0]).toMatch(
      'before its deadline',
    );
    expect(found(written(stream, lost(TTL_MS, 'a', 1, 'EXPIRED')))[0]).toMatch(
      'no event explains that cause',
    );
  });

  it('accepts an unexplained loss of a lease that is shorter than the latency allowance', () => {
    const [brief, long] = [holds(0, 'a', 1, { ttlMs: 9 }), holds(0, 'a', 1, { ttlMs: 11 })];
    expect(found(written(brief, lost(9, 'a', 1, 'STORE_UNAVAILABLE')))).toEqual([]);
    expect(found(written(brief, lost(7, 'a', 1, 'STORE_UNAVAILABLE')))[0]).toMatch('before its deadline');
    expect(found(written(long, lost(11, 'a', 1, 'STORE_UNAVAILABLE')))[0]).toMatch(
      'no event explains that cause',
    );
  });

  describe('for a short lease', () => {
    const TTL = 600;
    const brief = holds(0, 'a', 1, { ttlMs: TTL });
    const expired = lost(TTL, 'a', 1, 'EXPIRED');
    /** Calls of other clients, each with the given duration. */
    const calls = (tookMs: (atMs: number) => number, everyMs = 40) =>
      Array.from({ length: 1 + TTL / everyMs }, (_, index) => {
        const [atMs, other] = [index * everyMs, `other ${index}`];
        const lease = holds(atMs, other, 10 + index, { name: other });
        return [lease, releases(atMs, other, 10 + index, { answeredMs: atMs + tookMs(atMs) })];
      });
    const violationsWith = (others: Written) =>
      checkAll(written(brief, expired, others), { latencyUs: 1_500_000, only: ['false_loss'] }).violations;

    it('accepts an unexplained loss while another call took a third of the ttl', () => {
      expect(violationsWith(calls((atMs) => (atMs === 240 ? 200 : 5)))).toEqual([]);
    });

    it('accepts an unexplained loss while another call failed', () => {
      const failed = ended(245, 'other 6', 'UNAVAILABLE', 'release by other 6 at 240');
      const others = calls(() => 5).map((call, index) => (index === 6 ? [] : call));
      const asking = releases(240, 'other 6', 16).slice(0, 1);
      const lease = holds(240, 'other 6', 16, { name: 'other 6' });
      expect(violationsWith([...others, [lease, asking, failed].flat()])).toEqual([]);
    });

    it('accepts an unexplained loss when no other call shows the pace', () => {
      expect(violationsWith(calls(() => 5, 300))).toEqual([]);
    });

    it('reports an unexplained loss while all other calls were answered quickly', () => {
      expect(violationsWith(calls(() => 199))).toHaveLength(1);
      expect(violationsWith(calls(() => 5))[0]?.message).toMatch('no event explains that cause');
    });
  });

  it('accepts a loss before the deadline when the store may have lost the renewal', () => {
    const early = lost(2_000, 'a', 1, 'EXPIRED');
    expect(found(written(stream, fault('redis_lost_writes', 500, 700), early))).toEqual([]);
    expect(found(written(stream, fault('redis_restarted', 500, 700), early))[0]).toMatch(
      'before its deadline',
    );
  });

  it('judges a loss on a stream only by the renewals that the same stream received', () => {
    const stalled = fault('redis_stopped', 1_100, 5_000);
    const other = renewsByCall(1_000, 'a', 1, { ttlMs: TTL_MS });
    expect(found(written(stream, other, stalled, lost(TTL_MS, 'a', 1, 'STORE_UNAVAILABLE')))).toEqual([]);
  });

  it('accepts the cause STORE_RESET only after a flush, and the cause REVOKED only after a revocation', () => {
    const reset = lost(1_000, 'a', 1, 'STORE_RESET');
    expect(found(written(stream, reset))).toHaveLength(1);
    expect(found(written(stream, fault('redis_flushed', 500, 501), reset))).toEqual([]);
    const revoked = lost(1_000, 'a', 1, 'REVOKED');
    expect(found(written(stream, revoked))).toHaveLength(1);
    expect(found(written(stream, revokes(500, 2, false), revoked))).toHaveLength(1);
    expect(found(written(stream, revokes(500, 1, false), revoked))).toEqual([]);
  });

  it('reports a released event without a release call of any client', () => {
    expect(found(written(stream, releasedByStream(1_000, 'a', 1)))[0]).toMatch('without any release call');
    expect(found(written(stream, releases(990, 'a', 1), releasedByStream(1_000, 'a', 1)))).toEqual([]);
  });

  it('reports LEASE_NOT_HELD for a lease that must still exist', () => {
    const refused = (atMs: number) => releases(atMs, 'a', 1, { released: false, lossCause: 'EXPIRED' });
    expect(found(written(stream, refused(2_000)))[0]).toMatch('reported as gone');
    expect(found(written(stream, refused(TTL_MS)))).toEqual([]);
    const renewal = renewsByCall(2_000, 'a', 1, { refused: true });
    expect(found(written(stream, renewal))[0]).toMatch('reported as gone');
    expect(found(written(stream, releases(1_000, 'a', 1), renewal))).toEqual([]);
  });
});

describe('the resurrection checker', () => {
  const found = (history: History) => messages('resurrection', history);

  it('reports a renewal that was requested after the certain end of the lease', () => {
    const renewal = renewsByCall(2_000, 'a', 1, { ttlMs: TTL_MS });
    expect(found(written(stream, renewal))).toEqual([]);
    expect(found(written(stream, releases(1_000, 'a', 1), renewal))[0]).toMatch('renewed after');
    expect(found(written(stream, holds(1_000, 'b', 2), renewal))[0]).toMatch('renewed after');
  });

  it('reports a renewal that was requested after the answer to a revocation of the lease', () => {
    const renewal = renewsByCall(2_000, 'a', 1, { ttlMs: TTL_MS });
    expect(found(written(stream, revoked(1_000, 1), renewal))[0]).toMatch('renewed after its revocation');
    expect(found(written(stream, revoked(2_100, 1), renewal))).toEqual([]);
    expect(found(written(stream, revoked(1_000, 2), renewal))).toEqual([]);
    const mayForget = fault('redis_restarted', 1_100, 1_200, { explains: ['STORE_RESET'] });
    expect(found(written(stream, revoked(1_000, 1), mayForget, renewal))).toEqual([]);
  });

  it('takes the time of a late renewal from the end of the lease in its event', () => {
    const late = [asked(0, 'a'), granted(0, 'a', 1, { ttlMs: TTL_MS }), fault('redis_flushed', 1_500, 1_501)];
    const madeBefore = renewed(1_400, 'a', 1, { ttlMs: TTL_MS, sentMs: 0, arrivesMs: 1_900 });
    expect(found(written(late, madeBefore))).toEqual([]);
    const madeAfter = renewed(1_900, 'a', 1, { ttlMs: TTL_MS, sentMs: 0 });
    expect(found(written(late, madeAfter))).toHaveLength(1);
  });

  it('reports a release call that is answered released after the certain end of the lease', () => {
    const gone = [holds(0, 'a', 1, { ttlMs: TTL_MS }), holds(3_500, 'b', 2)];
    expect(found(written(gone, releases(4_000, 'a', 1)))[0]).toMatch('stale release');
    expect(found(written(gone, releases(4_000, 'a', 1, { released: false })))).toEqual([]);
  });

  it('accepts a repeated release call that gets the first answer again', () => {
    const first = releases(1_000, 'a', 1);
    expect(found(written(stream, first, holds(1_100, 'b', 2), releases(2_000, 'a', 1)))).toEqual([]);
  });
});

describe('the idempotence checker', () => {
  const found = (history: History) => messages('idempotence', history);
  const again = (atMs: number, token: number) => [
    asked(atMs, 'a', { call: 'again' }),
    granted(atMs, 'a', token, { call: 'again' }),
  ];

  it('accepts one token for repeats of a request, and reports a second token', () => {
    expect(found(written(stream, again(1_000, 1)))).toEqual([]);
    expect(found(written(stream, again(1_000, 2)))[0]).toMatch('token 1 and token 2');
  });

  it('reports a grant to a request that ended within the last minute', () => {
    const over = [stream, releases(1_000, 'a', 1)];
    expect(found(written(over, again(60_900, 1)))[0]).toMatch('granted again after');
    expect(found(written(over, again(61_100, 2)))).toEqual([]);
  });

  it('accepts a second token after the store lost the request', () => {
    const flushed = fault('redis_flushed', 1_000, 1_001);
    expect(found(written(stream, flushed, again(2_000, 2)))).toEqual([]);
    expect(found(written(flushed, holds(1_500, 'a', 1), again(2_000, 2)))).toHaveLength(1);
  });

  it('treats equal request ids of different names as different requests', () => {
    const elsewhere = holds(10, 'a', 2, { name: 'other', call: 'elsewhere' });
    expect(found(written(stream, elsewhere))).toEqual([]);
  });
});

it('no checker reports a stream that ended before its grant', () => {
  const events = [asked(0, 'a'), ended(10, 'a', 'UNAVAILABLE/DRAINING'), goesOnUntil(9_000)];
  expect(checkAll(written(events), SHARP).violations).toEqual([]);
});
