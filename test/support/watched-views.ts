import { type HolderView, LOCK_LIMIT, type ResourceView } from '../../src/leases/lease';
import type { EngineFixture, Pending } from './engine-fixture';
import type { RecordedViews } from './fake-call';
import { settled } from './manual-clock';

/** A lock that was held once, and has no holder. */
export const free: ResourceView = {
  name: 'hello',
  limit: LOCK_LIMIT,
  keptLimit: undefined,
  usedCount: 0,
  lastFencingToken: 6n,
  holderCount: 0,
  waiterCount: 0,
  holders: [],
  waiters: [],
};

export function holder(values: Partial<HolderView> = {}): HolderView {
  return {
    holderId: 'alice',
    metadata: { at: 'a:1' },
    fencingToken: 7n,
    permitCount: LOCK_LIMIT,
    mode: 'exclusive',
    acquireTimeMs: 1000,
    expireTimeMs: 31_000,
    revoked: false,
    identity: '',
    ...values,
  };
}

export function heldBy(...holders: HolderView[]): ResourceView {
  const tokens = holders.map(({ fencingToken }) => fencingToken);
  const lastFencingToken = tokens.reduce((a, b) => (a > b ? a : b), 0n);
  return { ...free, holders, holderCount: holders.length, usedCount: LOCK_LIMIT, lastFencingToken };
}

/** Answers the read in flight, and lets deliveries run. */
export async function answerWatch(
  on: EngineFixture,
  view: ResourceView,
  earliestEndMs?: number,
): Promise<void> {
  await (await on.store.next('watch')).answer({ view, earliestEndMs });
  await on.clock.advance(0);
}

/** The clients of these watches disconnect. */
export async function cancelWatches(...watches: Pending<void, RecordedViews>[]): Promise<void> {
  for (const { call } of watches) call.cancel();
  await settled();
}
