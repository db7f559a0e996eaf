import { answerWithinMs, type Call } from '../base/call';
import {
  badPageToken,
  type Binding,
  decodePageToken,
  encodePageToken,
  EVERY_NAME,
  firstPlace,
  placeAfter,
  type ReadableNames,
} from '../base/names';
import type { Runtime } from '../base/runtime';
import { walkBuckets } from './bucket-walk';
import { resourceShownToClients, type ResourceView, type Service } from './lease';
import { translateListFailure } from './lease-errors';
import type { ListStep, LeaseStore, WaiterCount } from './lease-store';
import type { ListRequest, ResourcePage } from './lease-requests';

/** The longest time for one page (ms). A page that ends here may have fewer resources than asked for. */
const LONGEST_PAGE_MS = 2000;
/** The most names that are examined for one page. */
const MOST_NAMES = 50_000;
/** The most names that a list by waiters compares. */
const MOST_COMPARED = 20_000;
/**
 * The part of a page's time in which a list by waiters compares names. In the rest of the time, the list reads the
 * resources with the most waiters.
 */
const COMPARED_WITHIN = 0.75;
/** A page ends when its resources have this size, because a client accepts 4 MiB. One resource has at most 0.2 MiB. */
const MOST_PAGE_BYTES = 2 * 1024 * 1024;
/** How many resources a list by waiters reads at a time, after the comparison. */
const MOST_READS = 8;

/** A part of each binding, so that a later version can refuse or translate the tokens of this version. */
const TOKEN_VERSION = 'list 1';

/** The page of a caller that may read no name with the prefix. Such a page costs no command. */
const EMPTY_PAGE: ResourcePage = { resources: [], nextPageToken: '', sampled: false };

type Listing = Omit<ListStep, 'bucket' | 'after' | 'mostShown'>;

/** The pages of ListLocks and ListSemaphores. A list changes no lease. */
export class ResourceLists {
  constructor(
    private readonly store: LeaseStore,
    private readonly runtime: Runtime,
  ) {}

  async page(
    call: Call,
    service: Service,
    request: ListRequest,
    names: ReadableNames = EVERY_NAME,
  ): Promise<ResourcePage> {
    const { namePrefix, holderId, identity, order } = request;
    const listing = { service, namePrefix, holderId, identity, caller: call.connection };
    try {
      return order === 'fixed'
        ? await this.inFixedOrder(call, listing, request, names)
        : await this.byWaiters(call, listing, request, names);
    } catch (error) {
      throw translateListFailure(error, service);
    }
  }

  private async inFixedOrder(
    call: Call,
    listing: Listing,
    { pageSize, pageToken }: ListRequest,
    names: ReadableNames,
  ): Promise<ResourcePage> {
    const { service, namePrefix, holderId, identity } = listing;
    // Without the filter, a token is the same as that of a server that does not know the filter.
    const filter = identity === '' ? [] : [identity];
    const binding: Binding = [TOKEN_VERSION, service, call.identity, namePrefix, holderId, ...filter];
    const isPosition = (value: unknown): value is StoredPosition =>
      isListPosition(value, namePrefix, this.store.bucketCount);
    const start = decodePageToken(binding, pageToken, isPosition);
    const first = firstPlace(names, namePrefix);
    if (first === undefined) return EMPTY_PAGE;
    const resources: ResourceView[] = [];
    let bytes = 0;
    const end = await walkBuckets(
      {
        ...this.bounds(call, namePrefix, first, names),
        mostNames: MOST_NAMES,
        read: ({ bucket, after }) =>
          this.store.listViews({ ...listing, bucket, after, mostShown: pageSize - resources.length }),
        nameOf: ({ name }) => name,
        take: (view) => {
          if (!names.mayRead(view.name)) return false;
          resources.push(resourceShownToClients(service, view));
          bytes += sizeOf(view);
          return resources.length >= pageSize || bytes >= MOST_PAGE_BYTES;
        },
      },
      start === undefined ? { bucket: 0, after: '' } : { bucket: start[0], after: start[1] },
    );
    const nextPageToken = end === undefined ? '' : encodePageToken(binding, [end.bucket, end.after]);
    return { resources, nextPageToken, sampled: false };
  }

  private async byWaiters(
    call: Call,
    listing: Listing,
    { pageSize, pageToken }: ListRequest,
    names: ReadableNames,
  ): Promise<ResourcePage> {
    if (pageToken !== '') throw badPageToken();
    const first = firstPlace(names, listing.namePrefix);
    if (first === undefined) return EMPTY_PAGE;
    const bounds = this.bounds(call, listing.namePrefix, first, names);
    // If one page cannot compare all names, the next page compares other names.
    const firstBucket = Math.floor(this.runtime.identities.random() * this.store.bucketCount);
    let most: WaiterCount[] = [];
    const end = await walkBuckets<WaiterCount>(
      {
        ...bounds,
        // The caller gets no position.
        mayRead: () => true,
        mostNames: MOST_COMPARED,
        endAt: call.receivedAt + COMPARED_WITHIN * (bounds.endAt - call.receivedAt),
        read: (position) => {
          const bucket = (firstBucket + position.bucket) % this.store.bucketCount;
          return this.store.listWaiterCounts({ ...listing, ...position, bucket, mostShown: MOST_COMPARED });
        },
        nameOf: ({ name }) => name,
        take: (one) => {
          if (names.mayRead(one.name)) most.push(one);
          // A sort of all names would take several milliseconds.
          if (most.length >= 2 * pageSize) most = firstByWaiters(most, pageSize);
          return false;
        },
      },
      { bucket: 0, after: '' },
    );
    const { views, isCut } = await this.read(call, listing, firstByWaiters(most, pageSize), bounds.endAt);
    const resources = firstByWaiters(views, pageSize).map((view) =>
      resourceShownToClients(listing.service, view),
    );
    return { resources, nextPageToken: '', sampled: end !== undefined || isCut };
  }

  /**
   * The present views of these names, in this order. Names that are no longer in use are left out. `isCut`: some
   * names were not read, because the time was over or the page is full. The first MOST_READS names are always read.
   */
  private async read(
    call: Call,
    { service, holderId, identity }: Listing,
    names: readonly WaiterCount[],
    endAt: number,
  ): Promise<{ views: readonly ResourceView[]; isCut: boolean }> {
    const views: ResourceView[] = [];
    let bytes = 0;
    for (let from = 0; from < names.length; from += MOST_READS) {
      if (call.cancelled || (from > 0 && this.runtime.clock.now() >= endAt)) return { views, isCut: true };
      const reads = names
        .slice(from, from + MOST_READS)
        .map(({ name }) => this.store.inspect({ service, name }, call.connection));
      for (const view of await Promise.all(reads)) {
        if (!isInUse(service, view) || !showsHolder(view, holderId, identity)) continue;
        bytes += sizeOf(view);
        if (bytes >= MOST_PAGE_BYTES) return { views, isCut: true };
        views.push(view);
      }
    }
    return { views, isCut: false };
  }

  private bounds(call: Call, namePrefix: string, first: string, names: ReadableNames) {
    const { runtime, store } = this;
    const withinMs = Math.min(LONGEST_PAGE_MS, answerWithinMs(call.timeoutMs));
    return {
      clock: runtime.clock,
      bucketCount: store.bucketCount,
      firstPlace: first,
      placeAfter: (name: string) => placeAfter(names, namePrefix, name),
      mayRead: (name: string) => names.mayRead(name),
      endAt: call.receivedAt + withinMs,
      isCancelled: () => call.cancelled,
    };
  }
}

/** The names with the most waiters. Names with the same number of waiters stay in their order. */
function firstByWaiters<Item extends { readonly waiterCount: number }>(
  items: readonly Item[],
  count: number,
): Item[] {
  return [...items].sort((one, other) => other.waiterCount - one.waiterCount).slice(0, count);
}

function isInUse(service: Service, { limit, holderCount, waiterCount }: ResourceView): boolean {
  return service === 'semaphore' ? limit !== undefined : holderCount + waiterCount > 0;
}

function showsHolder({ holders, waiters }: ResourceView, holderId: string, identity: string): boolean {
  if (holderId === '' && identity === '') return true;
  return [...holders, ...waiters].some(
    (one) => (holderId === '' || one.holderId === holderId) && (identity === '' || one.identity === identity),
  );
}

/** A bound for the other fields of a resource, a holder, a waiter and a pair of metadata, in bytes. */
const OTHER_FIELDS = { resource: 64, holder: 384, pair: 16 } as const;

/** A bound for the size of the message, in bytes. */
function sizeOf({ name, holders, waiters }: ResourceView): number {
  let bytes = Buffer.byteLength(name) + OTHER_FIELDS.resource;
  for (const { holderId, metadata } of [...holders, ...waiters]) {
    bytes += Buffer.byteLength(holderId) + OTHER_FIELDS.holder;
    for (const [key, value] of Object.entries(metadata)) {
      bytes += Buffer.byteLength(key) + Buffer.byteLength(value) + OTHER_FIELDS.pair;
    }
  }
  return bytes;
}

type StoredPosition = readonly [bucket: number, after: string];

function isListPosition(value: unknown, namePrefix: string, bucketCount: number): value is StoredPosition {
  if (!Array.isArray(value) || value.length !== 2) return false;
  const [bucket, after] = value as unknown[];
  const isBucket = Number.isInteger(bucket) && (bucket as number) >= 0 && (bucket as number) < bucketCount;
  return isBucket && typeof after === 'string' && (after === '' || after.startsWith(namePrefix));
}
