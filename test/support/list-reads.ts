import type { Resource, ResourceView } from '../../src/leases/lease';
import type { ListedPart, ListStep, WaiterCount } from '../../src/leases/lease-store';
import { listStep } from './listed-names';
import type { LeaseFixture } from './lease-fixture';
import type { Requester } from './lease-requester';
import { is } from './reply-kinds';

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
