import { ResourceLists } from '../../src/leases/resource-lists';
import { systemClock } from '../../src/base/clock';
import type { Resource, ResourceView, Service } from '../../src/leases/lease';
import type { ListStep, LeaseStore } from '../../src/leases/lease-store';
import type { ListRequest } from '../../src/leases/lease-requests';
import { bucketOf } from '../../src/redis/buckets';
import { FakeCall } from './fake-call';

/** All pages of a list, one after the other, and the number of pages. */
export async function allListed(
  store: LeaseStore,
  service: Service,
  { pageSize = 500, ...values }: Partial<ListRequest> = {},
  onPage: (views: readonly ResourceView[]) => Promise<void> | void = () => undefined,
): Promise<ResourceView[]> {
  const lists = new ResourceLists(store, systemClock, Math.random);
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
