import { systemClock } from '../../../src/base/clock';
import {
  type HolderView,
  LOCK_LIMIT,
  type Resource,
  type ResourceView,
  type Service,
} from '../../../src/leases/lease';
import type { ListRequest } from '../../../src/leases/lease-requests';
import type { LeaseStore, ListedPart, ListStep, WaiterCount } from '../../../src/leases/lease-store';
import { ResourceLists } from '../../../src/leases/resource-lists';
import { bucketOf } from '../../../src/redis/buckets';
import { FakeCall, type RecordedViews } from '../fake-call';
import type { LeaseFixture } from './lease-fixture';
import { settled, runtimeOn } from '../manual-clock';
import { is } from '../reply-kinds';
import type { EngineFixture, Pending } from './engine-fixture';
import type { Requester } from './lease-requester';
import { systemIdentities } from '../../../src/base/runtime';

/** All pages of a list, one after the other, and the number of pages. */
export async function allListed(
  store: LeaseStore,
  service: Service,
  { pageSize = 500, ...values }: Partial<ListRequest> = {},
  onPage: (views: readonly ResourceView[]) => Promise<void> | void = () => undefined,
): Promise<ResourceView[]> {
  const lists = new ResourceLists(store, runtimeOn(systemClock, { identities: systemIdentities }));
  const found: ResourceView[] = [];
  let pageToken = '';
  do {
    const all = { namePrefix: '', holderId: '', identity: '', order: 'fixed' as const };
    const request = { ...all, ...values, pageSize, pageToken };
    const page = await lists.page(new FakeCall(systemClock), service, request);
    found.push(...page.resources);
    await onPage(page.resources);
    pageToken = page.nextPageToken;
  } while (pageToken !== '');
  return found;
}

export const sortedNames = (views: readonly { readonly name: string }[]): string[] =>
  views.map(({ name }) => name).sort();

/** A step over the names that begin with the name of this resource, in its bucket. */
export function listStep({ service, name }: Resource, values: Partial<ListStep> = {}): ListStep {
  const bucket = bucketOf(name);
  return {
    service,
    bucket,
    after: '',
    namePrefix: name,
    holderId: '',
    identity: '',
    mostShown: 64,
    ...values,
  };
}

let prefixes = 0;

/** A prefix that no other name has, because the mutation run repeats tests on one Redis. */
export function newPrefix(text: string): string {
  prefixes += 1;
  return `${prefixes} ${text}`;
}

/** Names of one bucket, in the order of their bytes. */
export function namesOfOneBucket(count: number, prefix: string): string[] {
  const bucket = bucketOf(`${prefix}0`);
  const names: string[] = [];
  for (let i = 0; names.length < count; i += 1) if (bucketOf(prefix + i) === bucket) names.push(prefix + i);
  return names.sort((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)));
}

type StepValues = Partial<ListStep>;

/** Steps of lists by one server, and locks to list. `fixture` is read at each use. */
export function listReads(fixture: () => LeaseFixture) {
  const store = async () => (await fixture().server('s1')).store;
  return {
    /** The views that a list shows of names that begin with the name of this resource. */
    async listed(resource: Resource, values?: StepValues): Promise<ListedPart<ResourceView>> {
      return (await store()).listViews(listStep(resource, values));
    },

    async counted(resource: Resource, values?: StepValues): Promise<ListedPart<WaiterCount>> {
      return (await store()).listWaiterCounts(listStep(resource, values));
    },

    async heldLock(name?: string, holderId = ''): Promise<{ lock: Resource; holder: Requester }> {
      const lock = name === undefined ? fixture().resource() : { service: 'lock' as const, name };
      const holder = await fixture().request('s1', lock, { holderId, ttlMs: 20_000 });
      is('granted', await holder.try());
      return { lock, holder };
    },

    async isIndexed(resource: Resource): Promise<boolean> {
      return (await fixture().stored(resource)).isIndexed;
    },
  };
}

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
