import { answerWaiting, EngineFixture } from '../../support/leases/engine-fixture';
import { ALICE } from '../../support/fake-call';
import { grantedAt, EMPTY_SNAPSHOT } from '../../support/leases/fake-store';

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
