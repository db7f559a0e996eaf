import type { ResourceView } from '../../../src/leases/lease';
import { EngineFixture } from '../../support/leases/engine-fixture';
import { answerWatch, cancelWatches, free, heldBy, holder } from '../../support/leases/lease-views';

const HELLO = { service: 'lock', name: 'hello' } as const;

describe('a watch', () => {
  let on: EngineFixture;
  beforeEach(() => {
    on = EngineFixture.onFakeStore();
  });

  const answer = (view: ResourceView, earliestEndMs?: number) => answerWatch(on, view, earliestEndMs);
  const reads = () => on.store.count('watch');

  it('gets the state immediately, and then each state that clients see as another state', async () => {
    const watch = on.watch();
    await answer(heldBy(holder()));
    expect(watch.sink.views).toEqual([heldBy(holder({ permitCount: 1 }))]);
    on.store.listener?.changed(HELLO);
    await on.clock.advance(60);
    await answer(free);
    expect(watch.sink.views).toEqual([heldBy(holder({ permitCount: 1 })), free]);
    await cancelWatches(watch);
    expect(watch.outcome).toBe('OK');
    await on.clock.advance(60_000);
    expect(reads()).toBe(2);
    on.expectRest();
  });

  it('reads every second without a hint, and sends nothing if nothing has changed', async () => {
    const watch = on.watch();
    await answer(free);
    for (let second = 1; second <= 3; second += 1) {
      await on.clock.advance(989);
      expect(reads()).toBe(second);
      await on.clock.advance(11);
      await answer(free);
    }
    expect(watch.sink.views).toEqual([free]);
    await cancelWatches(watch);
  });

  it('reads when the earliest lease ends, without a hint', async () => {
    const watch = on.watch();
    await answer(heldBy(holder()), 300);
    await on.clock.advance(304);
    expect(reads()).toBe(1);
    await on.clock.advance(12);
    await answer(free);
    expect(watch.sink.last).toEqual(free);
    await cancelWatches(watch);
  });

  it('reads at most once in 50 ms, however often the name changes, and never twice at the same time', async () => {
    const watch = on.watch();
    for (let ms = 0; ms < 1000; ms += 1) {
      on.store.listener?.changed(HELLO);
      await on.clock.advance(1);
      if (on.store.inFlight.length > 0) await answer({ ...free, lastFencingToken: BigInt(ms) }, 1);
      expect(on.store.inFlight.length).toBeLessThanOrEqual(1);
    }
    expect(reads()).toBeLessThanOrEqual(21);
    expect(reads()).toBeGreaterThan(15);
    expect(watch.sink.views).toHaveLength(reads());
    await cancelWatches(watch);
    on.expectRest();
  });

  it('reads once more after a change that came while a read was in flight', async () => {
    const watch = on.watch();
    on.store.listener?.changed(HELLO);
    await answer(free);
    await on.clock.advance(60);
    await answer(heldBy(holder()));
    expect(watch.sink.views).toHaveLength(2);
    await cancelWatches(watch);
  });

  it('reads after a lost reply that may have had news', async () => {
    const watch = on.watch();
    await answer(free);
    await on.clock.advance(100);
    on.store.listener?.mayHaveMissedNews(HELLO);
    await answer(heldBy(holder()));
    expect(watch.sink.views).toHaveLength(2);
    await cancelWatches(watch);
  });

  it.each<[string, ResourceView, boolean]>([
    ['a renewal', heldBy(holder({ expireTimeMs: 99_000 })), false],
    ['new metadata', heldBy(holder({ metadata: { at: 'b:2' } })), true],
    ['a revocation', heldBy(holder({ revoked: true })), true],
    ['a claimed offer', heldBy(holder({ acquireTimeMs: 1001 })), true],
    ['another holder', heldBy(holder({ fencingToken: 8n })), true],
    ['one more waiter', { ...heldBy(holder()), waiterCount: 1 }, true],
    ['another last token', { ...heldBy(holder()), lastFencingToken: 9n }, true],
    ['another limit', { ...heldBy(holder()), limit: 4 }, true],
    ['other permits in use', { ...heldBy(holder()), usedCount: 4 }, true],
    ['one more holder', { ...heldBy(holder()), holderCount: 2 }, true],
    ['the end of a lease', { ...free, lastFencingToken: 7n }, true],
  ])('after %s, sends the state if clients see a change', async (_, view, isSent) => {
    const watch = on.watch();
    await answer(heldBy(holder()));
    await on.clock.advance(1000);
    await answer(view);
    expect(watch.sink.views).toHaveLength(isSent ? 2 : 1);
    await cancelWatches(watch);
  });

  it('sends each change of a waiter', async () => {
    const waiter = { holderId: 'bob', metadata: {}, permitCount: 1, mode: 'shared' as const, identity: '' };
    const queued = (position: number) => ({
      ...heldBy(holder()),
      waiterCount: 3,
      waiters: [{ ...waiter, position, enqueueTimeMs: 5 }],
    });
    const watch = on.watch();
    await answer(queued(2));
    await on.clock.advance(1000);
    await answer(queued(1));
    expect(watch.sink.views).toHaveLength(2);
    await cancelWatches(watch);
  });

  describe('of a name that other streams watch', () => {
    it('costs no reads of its own, except for its first state', async () => {
      const first = on.watch();
      await answer(free);
      await on.clock.advance(500);
      const others = Array.from({ length: 999 }, () => on.watch());
      // The first read is sent for the first of the new watches, the second read for all others.
      await answer(free);
      await on.clock.advance(60);
      await answer(free);
      expect(reads()).toBe(3);
      for (const { sink } of [first, ...others]) expect(sink.views).toEqual([free]);
      for (let second = 0; second < 10; second += 1) {
        await on.clock.advance(1000);
        await answer(free);
      }
      expect(reads()).toBe(13);
      expect(on.permits.stats()).toMatchObject({ watchStreamCount: 1000, watchReaderCount: 1 });
      await cancelWatches(first, ...others);
      on.expectRest();
    });

    it('gets no state that was read before the watch was opened', async () => {
      const first = on.watch();
      const second = on.watch();
      await answer(free); // sent before the second watch
      expect(first.sink.views).toHaveLength(1);
      expect(second.sink.views).toHaveLength(0);
      await on.clock.advance(60);
      await answer(heldBy(holder()));
      expect(second.sink.views).toHaveLength(1);
      expect(first.sink.views).toHaveLength(2);
      await cancelWatches(first, second);
    });

    it('gets the same object as the other streams, so that a state is serialised once', async () => {
      const watches = [on.watch(), on.watch()];
      await answer(free);
      await on.clock.advance(60);
      await answer(heldBy(holder()));
      const [first, second] = watches.map(({ sink }) => sink.last);
      expect(second).toBe(first);
      await cancelWatches(...watches);
    });

    it('gets a state in another turn of the event loop if the others took a millisecond', async () => {
      const watches = Array.from({ length: 10 }, () => on.watch());
      await answer(free);
      await on.clock.advance(60);
      await answer(free);
      let sentCount = 0;
      for (const { sink } of watches) {
        sink.send = () => {
          sentCount += 1;
          on.clock.pass(0.3);
        };
      }
      await on.clock.advance(1000);
      await answer(heldBy(holder()));
      expect(sentCount).toBe(4);
      await on.clock.advance(0);
      expect(sentCount).toBe(8);
      await on.clock.advance(0);
      expect(sentCount).toBe(10);
      await cancelWatches(...watches);
      on.expectRest();
    });
  });

  describe('with a stream that cannot be sent a state', () => {
    const NO_MESSAGE = new Error('the state has no message');
    const unsendable = () => {
      const watch = on.watch();
      watch.sink.send = () => {
        throw NO_MESSAGE;
      };
      return watch;
    };

    it('ends this stream with the defect, and sends the state to the others', async () => {
      const watches = [on.watch(), unsendable(), on.watch()];
      await answer(free);
      await on.clock.advance(60);
      await answer(free);
      expect(watches.map(({ outcome }) => outcome)).toEqual(['waiting', 'DEFECT', 'waiting']);
      expect(watches[1]?.error).toBe(NO_MESSAGE);
      expect([watches[0], watches[2]].map((watch) => watch?.sink.views)).toEqual([[free], [free]]);
      await cancelWatches(watches[0]!, watches[2]!);
      on.expectRest();
    });

    it('is no longer read if there is no other stream', async () => {
      const watch = unsendable();
      await answer(free);
      expect(watch.outcome).toBe('DEFECT');
      await on.clock.advance(60_000);
      expect(reads()).toBe(1);
      on.expectRest();
    });
  });

  describe('of a store that fails', () => {
    it('waits with growing pauses, and continues with the first answer', async () => {
      const watch = on.watch();
      await answer(free);
      await on.clock.advance(1000);
      for (const pauseMs of [250, 500, 1000, 1000]) {
        await (await on.store.next('watch')).fail('unknown', 'unavailable');
        await on.clock.advance(pauseMs - 11);
        expect(on.store.inFlight).toEqual([]);
        await on.clock.advance(21);
      }
      await (await on.store.next('watch')).fail('no', 'overloaded');
      await on.clock.advance(1010);
      await answer(heldBy(holder()));
      expect(watch.sink.views).toHaveLength(2);
      // The next failure begins with the first pause again.
      await on.clock.advance(1000);
      await (await on.store.next('watch')).fail('no', 'unavailable');
      await on.clock.advance(260);
      await answer(heldBy(holder()));
      await cancelWatches(watch);
      on.expectRest();
    });

    it('keeps the pause although hints and new streams come', async () => {
      const watch = on.watch();
      await (await on.store.next('watch')).fail('no', 'unavailable');
      const other = on.watch();
      for (let ms = 0; ms < 240; ms += 10) {
        on.store.listener?.changed(HELLO);
        await on.clock.advance(10);
      }
      expect(reads()).toBe(1);
      await on.clock.advance(20);
      await answer(free);
      expect([watch, other].map(({ sink }) => sink.views)).toEqual([[free], [free]]);
      await cancelWatches(watch, other);
      on.expectRest();
    });

    it('ends with the defect if the reply of the store is a defect', async () => {
      const watch = on.watch();
      await (await on.store.next('watch')).throw(new Error('an unreadable reply'));
      await on.clock.advance(0);
      expect(watch.outcome).toBe('DEFECT');
      on.expectRest();
    });
  });
});
