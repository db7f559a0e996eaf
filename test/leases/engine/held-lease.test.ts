import { Heartbeats } from '../../../src/leases/life';
import { ALICE } from '../../support/fake-call';
import { grantedAt } from '../../support/leases/fake-store';
import { HeldLeaseFixture, SLOT_MS } from '../../support/leases/held-lease-fixture';

const RHO = 0.0005;

describe('HeldLease', () => {
  it('is forgotten once, at its end', async () => {
    const held = new HeldLeaseFixture({ ttlMs: 3000 });
    await held.until(100);
    expect(held.forgotten).toEqual([]);
    held.lease.supersede();
    held.lease.abandon();
    expect(held.forgotten).toEqual([held.lease]);
  });

  describe('when a new policy no longer allows the name', () => {
    it('sends lost with the cause REVOKED, ends with LEASE_LOST, and neither renews nor releases the lease', async () => {
      const held = new HeldLeaseFixture({ ttlMs: 3000 });
      await held.until(1000);
      await held.renew();
      held.lease.revokeHeld();
      await held.until(1100);
      expect(held.sink.last('lost').cause).toBe('revoked');
      expect(held.status).toBe('LEASE_LOST');
      const sent = held.sentAt('renew').length;
      await held.until(20_000);
      expect(held.sentAt('renew')).toHaveLength(sent);
      expect(held.sentAt('release')).toEqual([]);
    });

    it('does nothing after the end of the stream', async () => {
      const held = new HeldLeaseFixture();
      held.lease.abandon();
      held.lease.revokeHeld();
      await held.until(10);
      expect([held.status, held.sink.kinds]).toEqual(['OK', []]);
    });
  });

  describe('without failures', () => {
    it.each([
      [30_000, 10_000],
      [120_000, 10_000],
      [6000, 2000],
      [300, 100],
    ])('renews a ttl of %i ms every %i ms, and each renewal moves the end', async (ttlMs, interval) => {
      const held = new HeldLeaseFixture({ ttlMs });
      for (let round = 1; round <= 5; round += 1) {
        await held.until(round * interval - 1);
        expect(held.store.inFlight).toEqual([]);
        await held.until(round * interval);
        await held.renew();
        const event = held.sink.last('renewed');
        expect(held.offsetOf(event)).toBeCloseTo((round * interval + ttlMs) * (1 - RHO), 6);
      }
      expect(held.sink.kinds).toEqual(Array(5).fill('renewed'));
      expect(held.status).toBeUndefined();
    });

    it('never renews early, and renews at most one slot late', async () => {
      const held = new HeldLeaseFixture({ ttlMs: 1000 });
      let due = 1000 / 3;
      for (let round = 0; round < 10; round += 1) {
        await held.until(Math.ceil(due / SLOT_MS) * SLOT_MS);
        const sentAt = held.sentAt('renew')[round] as number;
        expect(sentAt).toBeGreaterThanOrEqual(due);
        expect(sentAt - due).toBeLessThanOrEqual(SLOT_MS);
        await held.renew();
        due = sentAt + 1000 / 3;
      }
    });

    it('sends an expire_offset that counts from the call of the stream, even after a wait', async () => {
      const held = new HeldLeaseFixture({ ttlMs: 30_000, waitedMs: 50_000 });
      await held.until(10_000);
      await held.renew();
      expect(held.offsetOf(held.sink.last('renewed'))).toBeCloseTo((60_000 + 30_000) * (1 - RHO), 6);
    });

    it('renews at half of the remaining time if the stream attached late to the lease', async () => {
      const held = new HeldLeaseFixture({ ttlMs: 30_000, granted: { remainingMs: 4000 } });
      await held.until(2000);
      expect(held.sentAt('renew')).toEqual([2000]);
    });

    it('renews every third of the new ttl after another call has set a longer ttl', async () => {
      const held = new HeldLeaseFixture({ ttlMs: 3000 });
      await held.until(1000);
      await held.renew({ ttlMs: 24_000, remainingMs: 24_000 });
      await held.until(8999);
      expect(held.sentAt('renew')).toEqual([1000]);
      await held.until(9000);
      expect(held.sentAt('renew')).toEqual([1000, 9000]);
    });

    it('counts the interval from the send of the last renewal, not from its reply', async () => {
      const held = new HeldLeaseFixture({ ttlMs: 30_000 });
      await held.until(10_000);
      await held.until(13_000);
      await held.renew();
      expect(held.offsetOf(held.sink.last('renewed'))).toBeCloseTo(40_000 * (1 - RHO), 6);
      await held.until(20_000);
      expect(held.sentAt('renew')).toEqual([10_000, 20_000]);
    });

    it('renews with its own attach value, and never takes the lease over from another stream', async () => {
      const held = new HeldLeaseFixture();
      await held.until(10_000);
      const { command } = await held.store.next('renew');
      expect(command).toMatchObject({ ttlMs: undefined, stream: { attach: 's1.1s', takeOver: false } });
    });

    it('renews immediately after a hint, and again if a second hint comes during the renewal', async () => {
      const held = new HeldLeaseFixture();
      await held.until(1000);
      held.lease.recheck();
      expect(held.sentAt('renew')).toEqual([1000]);
      held.lease.recheck();
      await held.until(1500);
      expect(held.sentAt('renew')).toEqual([1000]);
      await held.renew();
      expect(held.sentAt('renew')).toEqual([1000, 1500]);
      await held.renew();
      await held.until(11_499);
      expect(held.sentAt('renew')).toEqual([1000, 1500]);
    });
  });

  describe('after a failed renewal', () => {
    it('sends renewal-failed and retries after a second', async () => {
      const held = new HeldLeaseFixture({ ttlMs: 30_000 });
      await held.until(10_000);
      await (await held.store.next('renew')).fail();
      const failed = held.sink.last('renewal-failed');
      expect(held.offsetOf(failed)).toBeCloseTo(30_000 * (1 - RHO), 6);
      expect(failed.cause).toBe('store-unavailable');
      await held.until(11_000);
      expect(held.sentAt('renew')).toEqual([10_000, 11_000]);
      await held.renew();
      expect(held.offsetOf(held.sink.last('renewed'))).toBeCloseTo(41_000 * (1 - RHO), 6);
      await held.until(20_999);
      expect(held.sink.kinds).toEqual(['renewal-failed', 'renewed']);
    });

    it('sends renewal-failed once after half a ttl without a reply, and accepts the late reply', async () => {
      const held = new HeldLeaseFixture({ ttlMs: 30_000 });
      await held.until(10_000);
      const first = await held.store.next('renew');
      await held.until(24_999);
      expect(held.sink.kinds).toEqual([]);
      await held.until(25_000);
      expect(held.sink.kinds).toEqual(['renewal-failed']);
      await first.answer({
        ...first.command,
        kind: 'granted',
        sentAt: first.at,
        fencingToken: 7n,
        remainingMs: 30_000,
        ttlMs: 30_000,
        permits: 1,
      });
      expect(held.offsetOf(held.sink.last('renewed'))).toBeCloseTo(40_000 * (1 - RHO), 6);
      expect(held.sink.kinds).toEqual(['renewal-failed', 'renewed']);
    });

    it('keeps the later end if an older renewal is answered last', async () => {
      const held = new HeldLeaseFixture({ ttlMs: 3000 });
      await held.until(1000);
      const older = await held.store.next('renew');
      await held.until(2800);
      const newer = await held.store.next('renew');
      await newer.answer(grantedAt(newer.at, { ttlMs: 3000, remainingMs: 3000 }));
      const confirmed = held.sink.last('renewed').end;
      await older.answer(grantedAt(older.at, { ttlMs: 3000, remainingMs: 3000 }));
      expect(held.sink.last('renewed').end).toEqual(confirmed);
      const end = newer.at - held.start + 3000 * (1 - RHO);
      // All further renewals stay without a reply.
      await held.until(end - SLOT_MS);
      expect(held.status).toBeUndefined();
      await held.until(end + SLOT_MS);
      expect(held.status).toBe('LEASE_LOST');
    });

    it('retries until the last confirmed end, and sends lost exactly then (chapter 13)', async () => {
      const held = new HeldLeaseFixture({ ttlMs: 3000 });
      const confirmedEnd = 3000 * (1 - RHO);
      for (let time = 0; time < confirmedEnd; time += SLOT_MS) {
        await held.until(time);
        while (held.store.inFlight.length > 0) await (await held.store.next('renew')).fail();
        expect(held.sink.kinds).not.toContain('lost');
      }
      const tries = held.sentAt('renew');
      expect(tries.length).toBeGreaterThan(5);
      expect(tries[tries.length - 1]).toBeLessThan(confirmedEnd);
      await held.until(confirmedEnd - 0.001);
      expect(held.sink.kinds).not.toContain('lost');
      await held.until(Math.ceil(confirmedEnd / SLOT_MS) * SLOT_MS);
      expect(held.sink.last('lost').cause).toBe('store-unavailable');
      expect(held.status).toBe('LEASE_LOST');
    });

    it('keeps its end after a renewal without a reply', async () => {
      const held = new HeldLeaseFixture({ ttlMs: 3000 });
      await held.until(2990);
      expect(held.sink.kinds).not.toContain('lost');
      await held.until(3000);
      expect(held.sink.last('lost').cause).toBe('store-unavailable');
    });

    it('sends lost at the end of the last confirmed renewal', async () => {
      const held = new HeldLeaseFixture({ ttlMs: 3000 });
      await held.until(1000);
      await held.renew();
      await held.until(2000);
      await held.until(3990);
      expect(held.status).toBeUndefined();
      await held.until(4000);
      expect(held.status).toBe('LEASE_LOST');
    });

    it('sends renewal-failed after a defect too, and reports the defect', async () => {
      const held = new HeldLeaseFixture();
      await held.until(10_000);
      const defect = new Error('a script failed');
      await (await held.store.next('renew')).throw(defect);
      expect(held.sink.kinds).toEqual(['renewal-failed']);
      expect(held.defects).toEqual([defect]);
    });
  });

  describe('after a loss', () => {
    it('stops renewing, and releases the lease, because a renewal without a reply may have prolonged the lease', async () => {
      const held = new HeldLeaseFixture({ ttlMs: 3000 });
      await held.until(3000);
      expect(held.status).toBe('LEASE_LOST');
      const renewals = held.sentAt('renew').length;
      await held.until(3010);
      const { command } = await held.store.next('release');
      expect(command).toMatchObject({ requestId: ALICE, afterLoss: { attach: 's1.1s' } });
      await held.until(60_000);
      expect(held.sentAt('renew')).toHaveLength(renewals);
    });

    // `lost` may not reach the client. The client's clock may be slower than the server's clock by RHO.
    it.each([
      [3000, 3000 * (1 + RHO)],
      [30_000, 30_000 * (1 + RHO)],
      [120_000, 120_000 * (1 + RHO)],
      [86_400_000, 86_400_000 * (1 + RHO)],
    ])(
      'releases a lease with a ttl of %i ms after %d ms, when no client believes in it',
      async (ttlMs, end) => {
        const held = new HeldLeaseFixture({ ttlMs, ageLimitAt: 1e12 });
        await held.until(end - 0.001);
        expect(held.status).toBe('LEASE_LOST');
        expect(held.sentAt('release')).toEqual([]);
        await held.until(end + SLOT_MS);
        expect(held.sentAt('release')).toHaveLength(1);
        expect(Math.max(...held.sentAt('renew'))).toBeLessThan(ttlMs * (1 - RHO));
      },
    );

    // The store counts the remaining time from a time between the send and the reply. An older stream may have told
    // the client of an end up to this time.
    it('counts the time of a late release from the last confirmed reply', async () => {
      const held = new HeldLeaseFixture({ ttlMs: 3000 });
      await held.until(1000);
      await held.until(2400);
      await held.renew();
      const lostAt = 1000 + 3000 * (1 - RHO);
      await held.until(lostAt + SLOT_MS);
      expect(held.status).toBe('LEASE_LOST');
      const end = 2400 + 3000 * (1 + RHO);
      await held.until(end - 0.001);
      expect(held.sentAt('release')).toEqual([]);
      await held.until(end + SLOT_MS);
      expect(held.sentAt('release')).toHaveLength(1);
    });

    it('sends no late release after the server has closed', async () => {
      const held = new HeldLeaseFixture({ ttlMs: 30_000 });
      await held.until(30_000);
      expect(held.status).toBe('LEASE_LOST');
      held.lateReleases.close();
      expect([held.lateReleases.count, held.timers.size, held.clock.timerCount]).toEqual([0, 0, 0]);
      await held.until(60_000);
      expect(held.sentAt('release')).toEqual([]);
    });

    it('retries the late release for the length of a ttl if the store does not answer', async () => {
      const held = new HeldLeaseFixture({ ttlMs: 3000 });
      await held.until(3000);
      for (let second = 3; second < 10; second += 1) {
        await held.until(second * 1000 + 500);
        while (held.store.inFlight.includes('release')) await (await held.store.next('release')).fail();
      }
      const tries = held.sentAt('release');
      expect(tries.length).toBeGreaterThanOrEqual(3);
      expect(tries[tries.length - 1]).toBeLessThanOrEqual(3000 * (1 + RHO) + 3000 + SLOT_MS);
      expect(held.timers.size).toBe(0);
    });

    it('ignores late replies to renewals', async () => {
      const held = new HeldLeaseFixture({ ttlMs: 3000 });
      await held.until(1000);
      const late = await held.store.next('renew');
      await held.until(3000);
      expect(held.sink.kinds).toEqual(['renewal-failed', 'lost']);
      await late.answer({
        kind: 'granted',
        sentAt: late.at,
        fencingToken: 7n,
        remainingMs: 3000,
        ttlMs: 3000,
        secret: '',
        permits: 1,
      });
      await held.until(10_000);
      expect(held.sink.kinds).toEqual(['renewal-failed', 'lost']);
    });

    it('reports the cause expired, and sends no renewal, if the server was suspended past the end', async () => {
      const held = new HeldLeaseFixture({ ttlMs: 3000 });
      await held.clock.jump(60_000);
      expect(held.sink.kinds).toEqual(['lost']);
      expect(held.sink.last('lost').cause).toBe('expired');
      expect(held.sentAt('renew')).toEqual([]);
      expect(held.status).toBe('LEASE_LOST');
    });

    it('ignores the reply to a renewal if the server was suspended past the end', async () => {
      const held = new HeldLeaseFixture({ ttlMs: 3000 });
      await held.until(1000);
      const renewal = await held.store.next('renew');
      // The reply waits in the socket of the suspended process until the end has passed.
      const jumped = held.clock.jump(60_000);
      void renewal.answer({
        kind: 'granted',
        sentAt: renewal.at,
        fencingToken: 7n,
        remainingMs: 59_500,
        ttlMs: 59_500,
        secret: '',
        permits: 1,
      });
      await jumped;
      expect(held.sink.kinds).toEqual(['lost']);
    });

    it.each([
      ['expired', { kind: 'finished', cause: 'expired' }],
      ['revoked', { kind: 'finished', cause: 'revoked' }],
      ['store-reset', { kind: 'gone' }],
    ] as const)(
      'sends lost immediately and releases nothing if the store reports %s',
      async (cause, reply) => {
        const held = new HeldLeaseFixture();
        await held.until(10_000);
        await (await held.store.next('renew')).answer(reply);
        expect(held.sink.kinds).toEqual(['lost']);
        expect(held.sink.last('lost').cause).toBe(cause);
        expect(held.status).toBe('LEASE_LOST');
        expect(held.sentAt('release')).toEqual([]);
      },
    );
  });

  describe('at its end', () => {
    it('ends the stream with OK when the lease was released by its id', async () => {
      const held = new HeldLeaseFixture();
      held.lease.recheck();
      await (await held.store.next('renew')).answer({ kind: 'finished', cause: 'released' });
      expect(held.sink.kinds).toEqual(['released']);
      expect(held.status).toBe('OK');
    });

    it('ends the stream with SUPERSEDED and no lost event when another stream has taken over', async () => {
      const held = new HeldLeaseFixture();
      await held.until(10_000);
      await (await held.store.next('renew')).answer({ kind: 'superseded' });
      expect(held.sink.kinds).toEqual([]);
      expect(held.status).toBe('SUPERSEDED');
      expect(held.sentAt('release')).toEqual([]);
    });

    it('ends the stream with REATTACH at its age limit, after one more renewal', async () => {
      const held = new HeldLeaseFixture({ ageLimitAt: 115_000 });
      await held.until(10_000);
      await held.renew();
      await held.until(15_000);
      expect(held.sentAt('renew')).toEqual([10_000, 15_000]);
      expect(held.status).toBeUndefined();
      await held.renew();
      expect(held.offsetOf(held.sink.last('renewed'))).toBeCloseTo(45_000 * (1 - RHO), 6);
      expect(held.status).toBe('REATTACH');
    });

    it('ends the stream with DRAINING when the server drains, after one more renewal', async () => {
      const held = new HeldLeaseFixture();
      await held.until(3000);
      held.lease.drain();
      expect(held.sentAt('renew')).toEqual([3000]);
      await held.renew();
      expect(held.status).toBe('DRAINING');
      expect(held.sink.kinds).toEqual(['renewed']);
    });

    it('ends the stream with DRAINING even if the last renewal fails, after renewal-failed', async () => {
      const held = new HeldLeaseFixture();
      held.lease.drain();
      await (await held.store.next('renew')).fail();
      expect(held.sink.kinds).toEqual(['renewal-failed']);
      expect(held.status).toBe('DRAINING');
    });

    it('ends the stream with DRAINING after a renewal that was already in flight', async () => {
      const held = new HeldLeaseFixture();
      await held.until(10_000);
      held.lease.drain();
      await held.renew();
      expect(held.sentAt('renew')).toEqual([10_000]);
      expect(held.status).toBe('DRAINING');
    });

    it('ends the stream with LEASE_LOST instead of DRAINING if the last renewal finds the lease lost', async () => {
      const held = new HeldLeaseFixture();
      held.lease.drain();
      await (await held.store.next('renew')).answer({ kind: 'gone' });
      expect(held.sink.kinds).toEqual(['lost']);
      expect(held.status).toBe('LEASE_LOST');
    });

    it('ends the stream with OK when its client is gone, without a renewal or release', async () => {
      const held = new HeldLeaseFixture();
      held.lease.abandon();
      await held.until(100_000);
      expect(held.status).toBe('OK');
      expect(held.store.log).toEqual([]);
      expect(held.sink.kinds).toEqual([]);
    });

    it('ends the stream once, and ignores everything that comes later', async () => {
      const held = new HeldLeaseFixture();
      await held.until(10_000);
      const renewal = await held.store.next('renew');
      held.lease.supersede();
      held.lease.drain();
      held.lease.abandon();
      held.lease.recheck();
      await renewal.answer({ kind: 'gone' });
      await held.until(100_000);
      expect(held.status).toBe('SUPERSEDED');
      expect(held.sink.kinds).toEqual([]);
    });

    it.each(['supersede', 'abandon'] as const)('leaves no timer after %s', async (how) => {
      const held = new HeldLeaseFixture();
      held.lease[how]();
      expect([held.timers.size, held.clock.timerCount]).toEqual([0, 0]);
    });
  });

  describe('in a session', () => {
    const fixtureWith = (ttlMs: number) => {
      const heartbeats = new Heartbeats(1, 100_000, 15_000);
      return { heartbeats, held: new HeldLeaseFixture({ ttlMs, heartbeats }) };
    };

    it.each([
      [60_000, 15_000],
      [6000, 6000],
    ])(
      'with a ttl of %i ms is renewed for %i ms after the last heartbeat, and again after the next one',
      async (ttlMs, silenceMs) => {
        const { heartbeats, held } = fixtureWith(ttlMs);
        heartbeats.receive(2, held.start + 1000);
        const interval = Math.min(ttlMs / 3, 10_000);
        let last = 0;
        for (let at = interval; at < 1000 + silenceMs; at += interval) {
          await held.until(at);
          await held.renew();
          last = at;
        }
        await held.until(last + ttlMs - interval);
        expect(held.store.inFlight).toEqual([]);
        heartbeats.receive(3, held.clock.now());
        await held.clock.advance(SLOT_MS);
        expect(held.store.inFlight).toHaveLength(1);
      },
    );

    it('is renewed without a heartbeat for a while after its grant', async () => {
      const heartbeats = new Heartbeats(1, 0, 15_000);
      const held = new HeldLeaseFixture({ ttlMs: 30_000, heartbeats });
      await held.until(10_000);
      await held.renew();
      await held.until(20_000);
      expect(held.store.inFlight).toEqual([]);
    });

    it('expires if no heartbeat comes', async () => {
      const { held } = fixtureWith(3000);
      await held.until(1000);
      await held.renew();
      await held.until(2000);
      await held.renew();
      await held.until(6000);
      expect(held.status).toBe('LEASE_LOST');
      expect(held.sink.last('lost').cause).toBe('expired');
      expect(held.meters.lock.lost).toMatchObject({ 'client-silent': 1, expired: 0 });
    });

    it('counts as expired, and not as lost by a silent client, if the server was suspended past the end', async () => {
      const { held } = fixtureWith(3000);
      await held.until(1000);
      await held.renew();
      await held.clock.jump(60_000);
      expect(held.meters.lock.lost).toMatchObject({ 'client-silent': 0, expired: 1 });
    });

    it('counts as expired if its client was heard again before the server was suspended past the end', async () => {
      const { heartbeats, held } = fixtureWith(3000);
      await held.until(1000);
      await held.renew();
      await held.until(2000);
      await held.renew();
      await held.until(4000);
      heartbeats.receive(2, held.clock.now());
      await held.clock.advance(SLOT_MS);
      await held.renew();
      await held.clock.jump(60_000);
      expect(held.meters.lock.lost).toMatchObject({ 'client-silent': 0, expired: 1 });
    });

    it('is not renewed after its holder has asked for its release, even if the answer is lost', async () => {
      const { heartbeats, held } = fixtureWith(30_000);
      held.lease.releaseAsked('another secret', 'spiffe://example.org/alice');
      await held.until(10_000);
      heartbeats.receive(2, held.clock.now());
      await held.renew();
      held.lease.releaseAsked('AAAAAAAAAAAAAAAAAAAAAA', 'spiffe://example.org/alice');
      held.lease.recheck();
      heartbeats.receive(3, held.clock.now());
      await held.until(39_000);
      expect(held.sentAt('renew')).toEqual([10_000]);
    });
  });
});
