import { checkAll } from '../support/checkers/check-all';
import type { Invariant } from '../support/checkers/violation';
import {
  compareEvents,
  type EventBody,
  type History,
  type HistoryEvent,
  type Micros,
} from '../support/history';

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
