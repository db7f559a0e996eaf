import { TimerQueue } from '../../../src/flow/timer-queue';
import type { LeaseStore, LeaseWanted, WithdrawCommand } from '../../../src/leases/lease-store';
import { Withdrawals } from '../../../src/leases/withdrawals';
import { ALICE } from '../../support/fake-call';
import { answerWaiting, EngineFixture, UNCHANGED } from '../../support/leases/engine-fixture';
import { EMPTY_SNAPSHOT, grantedAt } from '../../support/leases/fake-store';
import { ManualClock, settled, runtimeOn } from '../../support/manual-clock';

const OTHER = ALICE.replace('a11c', 'b0b0');

describe('a draining server', () => {
  let on: EngineFixture;
  let drained: boolean;
  beforeEach(() => {
    on = EngineFixture.onFakeStore();
    drained = false;
  });

  async function drain(): Promise<void> {
    void on.permits.drain().then(() => (drained = true));
    await settled();
  }

  it('ends its drain immediately if there are no calls', async () => {
    await drain();
    expect(drained).toBe(true);
  });

  it('answers DRAINING to new calls, and sends no command to the store', async () => {
    await drain();
    const [unary, stream, attach] = [on.acquire(), on.hold(), on.attach('x')];
    await settled();
    for (const pending of [unary, stream, attach]) {
      expect(pending.outcome).toBe('DRAINING');
      expect(pending.failure.details.retryAfterMs).toBeDefined();
    }
    expect(on.store.log).toEqual([]);
  });

  it('renews every lease once more, and ends each stream after the reply', async () => {
    const streams = [on.hold(), on.hold({ requestId: OTHER, name: 'other' })];
    for (let i = 0; i < 2; i += 1) {
      const sent = await on.store.next('acquire');
      await sent.answer(grantedAt(sent.at));
    }
    await on.clock.advance(2000);
    await drain();
    expect(on.store.inFlight).toEqual(['renew', 'renew']);
    const first = await on.store.next('renew');
    await first.answer(grantedAt(first.at));
    expect(streams.map(({ outcome }) => outcome)).toEqual(['DRAINING', 'waiting']);
    expect(drained).toBe(false);
    const second = await on.store.next('renew');
    await second.answer(grantedAt(second.at));
    await settled();
    expect(drained).toBe(true);
    expect(streams.map(({ sink }) => sink.kinds)).toEqual(Array(2).fill(['granted', 'renewed']));
    on.expectRest();
  });

  it('withdraws every waiting call, and ends the call with DRAINING', async () => {
    const waits = [on.acquire(), on.hold({ requestId: OTHER })];
    await answerWaiting(on);
    await answerWaiting(on);
    await drain();
    for (const pending of waits) expect(pending.outcome).toBe('waiting');
    for (let i = 0; i < 2; i += 1) {
      const sent = await on.store.next('withdraw');
      expect(sent.command.giveBack).toBe(false);
      await sent.answer({ kind: 'withdrawn', snapshot: EMPTY_SNAPSHOT });
    }
    await settled();
    expect(waits.map(({ outcome }) => outcome)).toEqual(['DRAINING', 'DRAINING']);
    expect(drained).toBe(true);
    on.expectRest();
  });

  it('reports a grant that arrives as the reply to a withdrawal', async () => {
    const unary = on.acquire();
    const stream = on.hold({ requestId: OTHER });
    await answerWaiting(on);
    await answerWaiting(on);
    await drain();
    for (let i = 0; i < 2; i += 1) {
      const sent = await on.store.next('withdraw');
      await sent.answer(grantedAt(sent.at));
    }
    expect(unary.outcome).toBe('OK');
    expect(drained).toBe(false);
    const renewal = await on.store.next('renew');
    await renewal.answer(grantedAt(renewal.at));
    await settled();
    expect(stream.sink.kinds).toEqual(['queued', 'granted', 'renewed']);
    expect(stream.outcome).toBe('DRAINING');
    expect(drained).toBe(true);
  });

  it('waits for acquires in flight, and withdraws them if they have to wait', async () => {
    const pending = on.acquire();
    const sent = await on.store.next('acquire');
    await drain();
    expect(drained).toBe(false);
    await sent.answer({
      kind: 'waiting',
      sentAt: sent.at,
      ticket: '1',
      position: 1,
      snapshot: EMPTY_SNAPSHOT,
    });
    await (await on.store.next('withdraw')).answer({ kind: 'withdrawn', snapshot: EMPTY_SNAPSHOT });
    await settled();
    expect(pending.outcome).toBe('DRAINING');
    expect(drained).toBe(true);
  });

  it('still renews and releases leases by lease_id', async () => {
    const unary = on.acquire();
    const acquired = await on.store.next('acquire');
    await acquired.answer(grantedAt(acquired.at));
    await drain();
    const renewing = on.permits.renew(unary.call, 'lock', unary.value.leaseId, UNCHANGED);
    const renewal = await on.store.next('renew');
    await renewal.answer(grantedAt(renewal.at));
    expect((await renewing).leaseId).toBe(unary.value.leaseId);
    const releasing = on.permits.release(unary.call, 'lock', unary.value.leaseId);
    await (await on.store.next('release')).answer({ kind: 'released' });
    expect((await releasing).released).toBe(true);
  });

  /** A call that waited, and a withdrawal that failed: the engine gives the place in the queue back in the background. */
  async function failedWithdrawal(): Promise<void> {
    on.acquire();
    await answerWaiting(on);
    await drain();
    await (await on.store.next('withdraw')).fail('unknown');
    await settled();
  }

  it('continues give-backs in the background until it is closed', async () => {
    await failedWithdrawal();
    expect(drained).toBe(true);
    await (await on.store.next('withdraw')).fail('unknown');
    await settled();
    expect(on.permits.stats()).toMatchObject({ givingBackCount: 1, timerCount: 1 });
    on.permits.close();
    on.expectRest();
  });

  it('does not retry a give-back that fails after the close', async () => {
    await failedWithdrawal();
    const giveBack = await on.store.next('withdraw');
    on.permits.close();
    expect(on.permits.stats().givingBackCount).toBe(1);
    await giveBack.fail('unknown');
    await settled();
    on.expectRest();
  });

  it('gives nothing back in the background for a call that ends after the close', async () => {
    on.acquire();
    await answerWaiting(on);
    await drain();
    const withdrawal = await on.store.next('withdraw');
    on.permits.close();
    await withdrawal.fail('unknown');
    await settled();
    expect(on.store.inFlight).toEqual([]);
    on.expectRest();
  });

  /** A stream without replies to its renewals: the engine reports the loss, and releases the lease in the background. */
  async function lostLease(): Promise<void> {
    const stream = on.hold({ ttlMs: 3000 });
    const sent = await on.store.next('acquire');
    await sent.answer(grantedAt(sent.at, { ttlMs: 3000, remainingMs: 3000 }));
    await on.clock.advance(3000);
    expect(stream.outcome).toBe('LEASE_LOST');
    await drain();
    expect(drained).toBe(true);
    await on.clock.advance(10); // The release waits until no client can believe in the lease.
  }

  it('continues the release of a lost lease until it is closed', async () => {
    await lostLease();
    await (await on.store.next('release')).fail('unknown');
    await on.clock.advance(1000);
    await (await on.store.next('release')).fail('unknown');
    expect(on.permits.stats().timerCount).toBe(1);
    on.permits.close();
    on.expectRest();
  });

  it('does not retry the release of a lost lease if this release fails after the close', async () => {
    await lostLease();
    const release = await on.store.next('release');
    on.permits.close();
    await release.fail('unknown');
    on.expectRest();
  });

  it('ends all calls even if the store does not answer', async () => {
    const stream = on.hold({ ttlMs: 3000 });
    const sent = await on.store.next('acquire');
    await sent.answer(grantedAt(sent.at, { ttlMs: 3000, remainingMs: 3000 }));
    const wait = on.acquire({ requestId: OTHER });
    await answerWaiting(on);
    await drain();
    await (await on.store.next('withdraw')).fail('unknown');
    await (await on.store.next('renew')).fail('unknown');
    await settled();
    expect(wait.outcome).toBe('OUTCOME_UNKNOWN');
    expect(stream.outcome).toBe('DRAINING');
    expect(drained).toBe(true);
  });
});

const HELLO = { service: 'lock', name: 'hello' } as const;

/** During a quarantine the store refuses every command that could grant, because leases may be forgotten. */
describe('during a quarantine of the store', () => {
  let on: EngineFixture;
  beforeEach(() => {
    on = EngineFixture.onFakeStore();
  });

  it('an acquire ends with QUARANTINED and the remaining time, and gives nothing back', async () => {
    const pending = on.acquire();
    await (await on.store.next('acquire')).fail('no', 'quarantined', 61_000);
    expect(pending.outcome).toBe('QUARANTINED');
    expect(pending.failure.details.retryAfterMs).toBe(61_000);
    expect(pending.failure.message).toMatch(/lock "hello" are paused for 61 s more/);
    expect(on.store.count('withdraw')).toBe(0);
    on.expectRest();
  });

  it('an acquire that may have been carried out ends with OUTCOME_UNKNOWN, and a possible grant is given back', async () => {
    const pending = on.acquire();
    await (await on.store.next('acquire')).fail('unknown', 'quarantined', 61_000);
    expect(pending.outcome).toBe('OUTCOME_UNKNOWN');
    await (await on.store.next('withdraw')).answer({ kind: 'withdrawn', snapshot: EMPTY_SNAPSHOT });
    on.expectRest();
  });

  it('a waiting call is touched every second, and is granted after the quarantine', async () => {
    const pending = on.acquire();
    await answerWaiting(on);
    on.store.listener?.recheck(HELLO, ALICE);
    await (await on.store.next('claim')).fail('no', 'quarantined', 10_000);
    for (let second = 0; second < 3; second += 1) {
      await on.clock.advance(1000);
      await (await on.store.next('touch')).fail('no', 'quarantined', 10_000);
    }
    expect(pending.outcome).toBe('waiting');
    // The engine retries touches only, because a claim of each waiter would be too many commands.
    expect(on.store.count('claim')).toBe(1);
    expect(on.store.count('touch')).toBe(3);
    await on.clock.advance(1000);
    await (await on.store.next('touch')).answer({ snapshot: EMPTY_SNAPSHOT, waiters: ['recheck'] });
    const claim = await on.store.next('claim');
    await claim.answer(grantedAt(claim.at));
    expect(pending.outcome).toBe('OK');
    on.expectRest();
  });

  it('a wait that times out ends with QUARANTINED', async () => {
    const pending = on.acquire({ waitTimeoutMs: 500 });
    await answerWaiting(on);
    await on.clock.advance(500);
    await (await on.store.next('withdraw')).fail('no', 'quarantined', 10_000);
    expect(pending.outcome).toBe('QUARANTINED');
    on.expectRest();
  });

  it('a wait ends with DRAINING if the server drains', async () => {
    const pending = on.acquire();
    await answerWaiting(on);
    const drained = on.permits.drain();
    await (await on.store.next('withdraw')).fail('no', 'quarantined', 10_000);
    await drained;
    expect(pending.outcome).toBe('DRAINING');
    on.expectRest();
  });

  it('a waiting stream ends with REATTACH at its age limit', async () => {
    const young = EngineFixture.onFakeStore({ maxStreamAgeMs: 5000 });
    const pending = young.hold();
    await answerWaiting(young);
    for (let second = 1; second < 5; second += 1) {
      await young.clock.advance(1000);
      await (await young.store.next('touch')).fail('no', 'quarantined', 10_000);
    }
    await young.clock.advance(1000);
    await (await young.store.next('withdraw')).fail('no', 'quarantined', 10_000);
    expect(pending.outcome).toBe('REATTACH');
  });
});

const PATIENCE_MS = 10_000;

let sent: WithdrawCommand[];
let withdrawals: Withdrawals;
let clock: ManualClock;

function wanted(caller: object | undefined, sendBefore?: number): LeaseWanted {
  return {
    requestId: 'r',
    attach: 'a',
    clientRequestId: 'c',
    ttlMs: 1000,
    caller,
    sendBefore,
  } as LeaseWanted;
}

describe('a withdrawal', () => {
  beforeEach(() => {
    sent = [];
    clock = new ManualClock(1000);
    const withdraw = (_: unknown, command: WithdrawCommand) => {
      sent.push(command);
      return Promise.resolve({ kind: 'withdrawn', snapshot: EMPTY_SNAPSHOT, ticket: '1' } as const);
    };
    const store = { withdraw } as unknown as LeaseStore;
    withdrawals = new Withdrawals(store, runtimeOn(clock), new TimerQueue(clock));
  });
  afterEach(() => withdrawals.close());

  test('waits in one queue with the other withdrawals of its connection, and apart from the renewals of its connection', async () => {
    const [alice, bob] = [{}, {}];
    await withdrawals.leaveQueue(HELLO, wanted(alice));
    await withdrawals.returnGrant(HELLO, wanted(alice), 5n);
    await withdrawals.leaveQueue(HELLO, wanted(bob));
    const [first, second, ofBob] = sent.map(({ caller }) => caller);
    expect(first).toBe(second);
    expect(new Set([first, ofBob, alice, bob, undefined]).size).toBe(5);
  });

  test('waits up to ten seconds for its turn, and never past the deadline of its call', async () => {
    await withdrawals.leaveQueue(HELLO, wanted({}));
    await withdrawals.leaveQueue(HELLO, wanted({}, clock.now() + 3000));
    expect(sent.map(({ patientUntil }) => patientUntil)).toEqual([1000 + PATIENCE_MS, 1000 + 3000]);
  });

  test('in the background waits in one queue with all give-backs of this server', async () => {
    withdrawals.giveBackLater(HELLO, wanted({}));
    withdrawals.giveBackLater(HELLO, wanted({}));
    await clock.advance(0);
    expect(sent.map(({ caller }) => caller)).toEqual([withdrawals, withdrawals]);
  });
});
