import { EngineFixture, letWait } from '../../support/engine-fixture';
import { ALICE } from '../../support/fake-call';
import { grantedAt, NOBODY } from '../../support/fake-store';

const HELLO = { service: 'lock', name: 'hello' } as const;

/** The store may have forgotten leases: it turns back whatever may grant. */
describe('while the store is in quarantine', () => {
  let on: EngineFixture;
  beforeEach(() => {
    on = EngineFixture.onFakeStore();
  });

  it('an acquire ends with QUARANTINED and the time it lasts, and gives nothing back', async () => {
    const pending = on.acquire();
    await (await on.store.next('acquire')).fail('no', 'quarantined', 61_000);
    expect(pending.outcome).toBe('QUARANTINED');
    expect(pending.failure.details.retryAfterMs).toBe(61_000);
    expect(pending.failure.message).toMatch(/lock "hello" are paused for 61 s more/);
    expect(on.store.count('withdraw')).toBe(0);
    on.expectRest();
  });

  it('an acquire of which an earlier try may have been carried out is unknown, and goes back', async () => {
    const pending = on.acquire();
    await (await on.store.next('acquire')).fail('unknown', 'quarantined', 61_000);
    expect(pending.outcome).toBe('OUTCOME_UNKNOWN');
    await (await on.store.next('withdraw')).answer({ kind: 'withdrawn', snapshot: NOBODY });
    on.expectRest();
  });

  it('a wait goes on, asked after each second, and is granted when it is over', async () => {
    const pending = on.acquire();
    await letWait(on);
    on.store.listener?.recheck(HELLO, ALICE);
    await (await on.store.next('claim')).fail('no', 'quarantined', 10_000);
    for (let second = 0; second < 3; second += 1) {
      await on.clock.advance(1000);
      await (await on.store.next('touch')).fail('no', 'quarantined', 10_000);
    }
    expect(pending.outcome).toBe('waiting');
    // So many may wait for one name: each by itself would be too many.
    expect(on.store.count('claim')).toBe(1);
    expect(on.store.count('touch')).toBe(3);
    await on.clock.advance(1000);
    await (await on.store.next('touch')).answer({ snapshot: NOBODY, waiters: ['recheck'] });
    const claim = await on.store.next('claim');
    await claim.answer(grantedAt(claim.at));
    expect(pending.outcome).toBe('OK');
    on.expectRest();
  });

  it('a wait that has come to its end says so', async () => {
    const pending = on.acquire({ waitTimeoutMs: 500 });
    await letWait(on);
    await on.clock.advance(500);
    await (await on.store.next('withdraw')).fail('no', 'quarantined', 10_000);
    expect(pending.outcome).toBe('QUARANTINED');
    on.expectRest();
  });

  it('a wait that a drain ends goes on elsewhere', async () => {
    const pending = on.acquire();
    await letWait(on);
    const drained = on.permits.drain();
    await (await on.store.next('withdraw')).fail('no', 'quarantined', 10_000);
    await drained;
    expect(pending.outcome).toBe('DRAINING');
    on.expectRest();
  });

  it('a stream that waits and has come of age goes on in the next one', async () => {
    const young = EngineFixture.onFakeStore({ maxStreamAgeMs: 5000 });
    const pending = young.hold();
    await letWait(young);
    for (let second = 1; second < 5; second += 1) {
      await young.clock.advance(1000);
      await (await young.store.next('touch')).fail('no', 'quarantined', 10_000);
    }
    await young.clock.advance(1000);
    await (await young.store.next('withdraw')).fail('no', 'quarantined', 10_000);
    expect(pending.outcome).toBe('REATTACH');
  });
});
