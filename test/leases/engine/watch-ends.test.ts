import { isDeepStrictEqual } from 'node:util';
import type { HoldfastError } from '../../../src/base/errors';
import { type HolderView, LOCK_LIMIT, type ResourceView } from '../../../src/leases/lease';
import { EngineFixture } from '../../support/leases/engine-fixture';
import { answerWatch, cancelWatches, free, heldBy, holder } from '../../support/leases/lease-views';
import { settled } from '../../support/manual-clock';

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

/** A view shows 16 holders, the earliest end first. A renewal moves its holder to the end. */
describe('a watch of a name with more holders than a state shows', () => {
  let on: EngineFixture;
  beforeEach(() => {
    on = EngineFixture.onFakeStore();
  });

  const all = Array.from({ length: 200 }, (_, n) =>
    holder({ fencingToken: BigInt(100 + n), permitCount: 1 }),
  );
  const [h0] = all as [HolderView];
  const B = { at: 'b:2' };

  function shown(holders: readonly HolderView[], values: Partial<ResourceView> = {}): ResourceView {
    return { ...free, holders, holderCount: 200, usedCount: 200, lastFencingToken: 299n, ...values };
  }
  /** 16 holders from this one on. */
  const from = (n: number) => shown(all.slice(n, n + 16));
  const withFirst = (first: HolderView) => shown([first, ...all.slice(1, 16)]);

  /** The result of the next read. */
  async function read(view: ResourceView): Promise<void> {
    await on.clock.advance(1000);
    await answerWatch(on, view);
  }

  async function watching(first: ResourceView) {
    const watch = on.watch();
    await answerWatch(on, first);
    return watch;
  }

  it('gets nothing when renewals have moved other holders to the front', async () => {
    const watch = await watching(from(0));
    for (const n of [1, 20, 150, 0]) await read(from(n));
    expect(watch.sink.views).toEqual([from(0)]);
    await cancelWatches(watch);
  });

  it('gets a change of a holder that each state shows', async () => {
    const watch = await watching(from(0));
    await read(withFirst({ ...h0, metadata: B }));
    expect(watch.sink.last).toEqual(withFirst({ ...h0, metadata: B }));
    await cancelWatches(watch);
  });

  it('gets a change of a holder that was at the front, moved away, and is at the front again', async () => {
    const watch = await watching(from(0));
    await read(from(30));
    await read(from(60));
    await read(withFirst({ ...h0, metadata: B }));
    expect(watch.sink.views).toEqual([from(0), withFirst({ ...h0, metadata: B })]);
    await read(from(30));
    await read(withFirst({ ...h0, metadata: B }));
    expect(watch.sink.views).toHaveLength(2);
    await cancelWatches(watch);
  });

  it('gets one state for a revoked holder that comes to the front', async () => {
    const watch = await watching(from(50));
    const revoked = withFirst({ ...h0, revoked: true });
    await read(revoked);
    await read(from(50));
    await read(revoked);
    expect(watch.sink.views).toEqual([from(50), revoked]);
    await cancelWatches(watch);
  });

  it('that was opened later gets a change of a holder that only its own first state shows', async () => {
    const early = await watching(from(0));
    await on.clock.advance(500);
    const late = on.watch();
    await answerWatch(on, from(100));
    expect([early, late].map(({ sink }) => sink.views)).toEqual([[from(0)], [from(100)]]);
    await read(from(0));
    const changed = shown([{ ...(all[100] as HolderView), metadata: B }, ...all.slice(101, 116)]);
    await read(changed);
    expect(late.sink.views).toEqual([from(100), changed]);
    await cancelWatches(early, late);
  });

  it('gets the same state as all other streams after the first states of new streams have shown 64 other holders', async () => {
    const early = await watching(from(0));
    const later = [];
    for (const n of [16, 32, 48, 64]) {
      await on.clock.advance(500);
      later.push(on.watch());
      await answerWatch(on, from(n));
    }
    // 64 holders are compared with each new state, and the last first state had 16 more.
    expect(early.sink.views).toEqual([from(0), from(64)]);
    expect(later.map(({ sink }) => sink.last)).toEqual(Array(4).fill(from(64)));
    await cancelWatches(early, ...later);
    on.expectRest();
  });

  it('never shows a stream a holder that differs from the last read in which the holder was shown', async () => {
    const watches = [await watching(from(0))];
    const now = [...all];
    const wrong: number[] = [];
    let seed = 7;
    const random = (below: number) => (seed = (seed * 48_271) % 2_147_483_647) % below;
    for (let step = 0; step < 200; step += 1) {
      const n = random(40);
      if (random(4) === 0) now[n] = { ...(now[n] as HolderView), metadata: { at: String(step) } };
      if (random(20) === 0) now[n] = { ...(now[n] as HolderView), revoked: true };
      if (watches.length < 10 && random(10) === 0) watches.push(on.watch());
      const start = random(30);
      await read(shown(now.slice(start, start + 16)));
      const read16 = new Map(now.slice(start, start + 16).map((one) => [one.fencingToken, one]));
      for (const { sink } of watches) {
        for (const one of sink.views.at(-1)?.holders ?? []) {
          if (!isDeepStrictEqual(one, read16.get(one.fencingToken) ?? one)) wrong.push(step);
        }
      }
    }
    expect(wrong).toEqual([]);
    await cancelWatches(...watches);
  });
});
