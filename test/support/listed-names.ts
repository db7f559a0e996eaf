import { ResourceLists } from '../../src/engine/leases/resource-lists';
import { systemClock } from '../../src/engine/clock';
import type { ResourceView, Service } from '../../src/engine/leases/lease';
import type { PermitsStore } from '../../src/engine/leases/permits-store';
import type { ListRequest } from '../../src/engine/leases/requests';
import { FakeCall } from './fake-call';

/** All pages of a list, one after the other, and the number of pages. */
export async function allListed(
  store: PermitsStore,
  service: Service,
  { pageSize = 500, ...values }: Partial<ListRequest> = {},
  onPage: (views: readonly ResourceView[]) => Promise<void> | void = () => undefined,
): Promise<ResourceView[]> {
  const lists = new ResourceLists(store, systemClock);
  const found: ResourceView[] = [];
  let pageToken = '';
  do {
    const request = { namePrefix: '', holderId: '', order: 'fixed' as const, ...values, pageSize, pageToken };
    const page = await lists.page(new FakeCall(systemClock), service, request);
    found.push(...page.resources);
    await onPage(page.resources);
    pageToken = page.nextPageToken;
  } while (pageToken !== '');
  return found;
}

export const sortedNames = (views: readonly { readonly name: string }[]): string[] =>
  views.map(({ name }) => name).sort();
