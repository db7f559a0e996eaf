import type { HoldfastError } from '../../../src/base/errors';
import { LOCK_LIMIT, type ResourceView } from '../../../src/leases/lease';
import { EngineFixture } from '../../support/leases/engine-fixture';
import { settled } from '../../support/manual-clock';
import { answerWatch, cancelWatches, free, heldBy, holder } from '../../support/leases/lease-views';

describe('a watch', () => {
  let on: EngineFixture;
  beforeEach(() => {
    on = EngineFixture.onFakeStore();
  });

  const answer = (view: ResourceView, earliestEndMs?: number) => answerWatch(on, view, earliestEndMs);

  describe('of a semaphore', () => {
    const none = { ...free, limit: undefined };

    it('ends with NO_SUCH_SEMAPHORE if there is no such semaphore', async () => {
      const watch = on.watch('hello', 'semaphore');
      await answer(none);
      expect(watch.outcome).toBe('NO_SUCH_SEMAPHORE');
      expect(watch.sink.views).toEqual([]);
      on.expectRest();
    });

    it('ends when the semaphore is deleted, and a later watch sees the next semaphore of the name', async () => {
      const watch = on.watch('hello', 'semaphore');
      await answer({ ...free, limit: 5 });
      await on.clock.advance(1000);
      const later = on.watch('hello', 'semaphore');
      await answer(none); // sent before `later` was opened
      expect([watch.outcome, later.outcome]).toEqual(['NO_SUCH_SEMAPHORE', 'waiting']);
      await on.clock.advance(60);
      await answer({ ...free, limit: 6 });
      expect(later.sink.views).toMatchObject([{ limit: 6 }]);
      await cancelWatches(later);
      on.expectRest();
    });

    it('hides the mode of the holders, and shows their permits', async () => {
      const watch = on.watch('hello', 'semaphore');
      await answer({ ...heldBy(holder({ permitCount: 3 })), limit: 5 });
      expect(watch.sink.last.holders).toMatchObject([{ permitCount: 3, mode: undefined }]);
      await cancelWatches(watch);
    });

    it('does not see the lock of the same name', async () => {
      const watches = [on.watch('hello', 'semaphore'), on.watch('hello', 'lock')];
      await answer({ ...free, limit: 5 });
      await answer(free);
      expect(watches.map(({ sink }) => sink.last.limit)).toEqual([5, LOCK_LIMIT]);
      expect(on.permits.stats().watchReaderCount).toBe(2);
      await cancelWatches(...watches);
    });
  });

  describe('ends', () => {
    it('with REATTACH at its age, with up to a tenth of jitter', async () => {
      on = EngineFixture.onFakeStore({ maxStreamAgeMs: 100_000 });
      const old = on.watch();
      on.identities.jitter = 0.5;
      const young = on.watch();
      const openAt: [number, number] = [0, 0];
      for (let second = 1; second < 110 && on.permits.stats().watchStreamCount > 0; second += 1) {
        while (on.store.inFlight.length > 0) await answer(free);
        await on.clock.advance(1000);
        if (!young.over) openAt[0] = second;
        if (!old.over) openAt[1] = second;
      }
      expect([young.outcome, old.outcome]).toEqual(['REATTACH', 'REATTACH']);
      expect(openAt[0]).toBeGreaterThanOrEqual(94);
      expect(openAt[0]).toBeLessThanOrEqual(96);
      expect(openAt[1]).toBeGreaterThanOrEqual(99);
      expect(openAt[1]).toBeLessThanOrEqual(101);
      expect(old.failure.details.retryAfterMs).toBe(0);
      expect(old.failure.message).toContain('lock "hello"');
      on.expectRest();
    });

    it('with REATTACH also while the store fails', async () => {
      on = EngineFixture.onFakeStore({ maxStreamAgeMs: 5000 });
      const watch = on.watch();
      for (let ms = 0; ms < 8000 && !watch.over; ms += 250) {
        if (on.store.inFlight.length > 0) await (await on.store.next('watch')).fail('no', 'unavailable');
        await on.clock.advance(250);
      }
      expect(watch.outcome).toBe('REATTACH');
      on.expectRest();
    });

    it('with DRAINING when the server stops, which waits for the end of all watches', async () => {
      const watches = [on.watch(), on.watch('other'), on.watch('other', 'semaphore')];
      await answer(free);
      let isDrained = false;
      void on.permits.drain().then(() => (isDrained = true));
      await settled();
      expect(isDrained).toBe(false);
      await on.clock.advance(0);
      expect(isDrained).toBe(true);
      expect(watches.map(({ outcome }) => outcome)).toEqual(Array(3).fill('DRAINING'));
      const late = on.watch();
      await settled();
      expect(late.outcome).toBe('DRAINING');
      on.expectRest();
    });

    it('with OK when its client is gone, also before the first state, and ignores the read in flight', async () => {
      const watch = on.watch();
      await cancelWatches(watch);
      expect(watch.outcome).toBe('OK');
      await answer(free);
      expect(watch.sink.views).toEqual([]);
      on.expectRest();
    });

    it('with QUOTA_EXCEEDED above the limit of the server, for which hold streams do not count', async () => {
      on = EngineFixture.onFakeStore({ maxStreams: 2 });
      on.hold();
      const watches = [on.watch(), on.watch()];
      const refused = on.watch('other');
      await settled();
      expect(refused.outcome).toBe('QUOTA_EXCEEDED');
      expect((refused.error as HoldfastError).message).toContain('2 watch streams');
      await cancelWatches(...watches);
      const next = on.watch();
      await settled();
      expect(next.outcome).toBe('waiting');
      await cancelWatches(next);
    });
  });

  it('gets a new reader if the last watch of the name has ended', async () => {
    const watch = on.watch();
    await cancelWatches(watch);
    const next = on.watch();
    await answer(heldBy(holder())); // the read of the first watch
    expect(next.sink.views).toEqual([]);
    await answer(free);
    expect(next.sink.views).toEqual([free]);
    await cancelWatches(next);
    on.expectRest();
  });

  it('continues for a new stream that is opened between the end of the other streams and the delivery of this end', async () => {
    const watch = on.watch('hello', 'semaphore');
    await (
      await on.store.next('watch')
    ).answer({ view: { ...free, limit: undefined }, earliestEndMs: undefined });
    const next = on.watch('hello', 'semaphore');
    await on.clock.advance(60);
    expect(watch.outcome).toBe('NO_SUCH_SEMAPHORE');
    await answer({ ...free, limit: 3 });
    expect(next.sink.views).toMatchObject([{ limit: 3 }]);
    await cancelWatches(next);
    on.expectRest();
  });
});
