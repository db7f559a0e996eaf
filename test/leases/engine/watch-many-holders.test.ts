import { isDeepStrictEqual } from 'node:util';
import type { HolderView, ResourceView } from '../../../src/leases/lease';
import { EngineFixture } from '../../support/leases/engine-fixture';
import { answerWatch, cancelWatches, free, holder } from '../../support/leases/lease-views';

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
