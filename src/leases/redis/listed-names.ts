import { leaseLibrary, leaseList, leaseUnlist } from '../../../generated/redis/scripts';
import { StoreFailure } from '../../base/errors';
import type { Resource, ResourceView } from '../lease';
import type { ListedPart, ListStep, WaiterCount } from '../lease-store';
import type { Commands, ServerArguments, Turn } from '../../redis/commands';
import { operation, type Reply } from '../../redis/script';
import { LEASE_LAYOUT } from '../../redis/buckets';
import { namesKeys } from './lease-keys';
import { parseInspect, parseList } from './lease-replies';

const scripts = {
  list: operation(leaseLibrary, 'list', leaseList),
  unlist: operation(leaseLibrary, 'unlist', leaseUnlist),
};
export const listScripts = Object.values(scripts);

/**
 * The most names that one script examines. A script takes Redis about 0.3 ms. A view of a resource takes twice as long
 * as a number of waiters.
 */
const MOST_EXAMINED = { views: 32, waiterCounts: 64 } as const;

export interface ListedNamesOptions {
  readonly commands: Commands;
  readonly prefix: string;
  /** The first arguments of every operation. */
  readonly head: ServerArguments;
  /** The most holders, and the most waiters, that a view of a resource has. */
  readonly shownCount: number;
  /** Reads one resource exactly. */
  readonly inspect: (resource: Resource, caller?: object) => Promise<ResourceView>;
}

/** Steps of lists over the indexes of names (leases/scripts/shared/layout.lua). */
export class ListedNames {
  constructor(private readonly options: ListedNamesOptions) {}

  async views(step: ListStep): Promise<ListedPart<ResourceView>> {
    const { service, caller } = step;
    const { items, ...part } = await this.look(step, 'views', (item) => {
      const [name, view, isInexact] = item as [string, Reply[], string];
      return parseInspect({ service, name }, [view, isInexact]);
    });
    const exact = items.map(async ({ shown, isExact }) =>
      isExact ? shown : await this.options.inspect({ service, name: shown.name }, caller),
    );
    return { items: await Promise.all(exact), ...part };
  }

  waiterCounts(step: ListStep): Promise<ListedPart<WaiterCount>> {
    return this.look(step, 'waiterCounts', ([name, waiterCount]) => ({
      name: name as string,
      waiterCount: Number(waiterCount),
    }));
  }

  private look<Item>(
    { service, bucket, after, namePrefix, holderId, identity, mostShown, caller }: ListStep,
    what: keyof typeof MOST_EXAMINED,
    parseItem: (item: readonly Reply[]) => Item,
  ): Promise<ListedPart<Item>> {
    const { commands, prefix, head, shownCount } = this.options;
    const keys = namesKeys(prefix, service, bucket);
    const turn: Turn = { priority: 'low', caller };
    const mostExamined = MOST_EXAMINED[what];
    const most = Math.min(mostShown, mostExamined);
    const wantsViews = what === 'views' ? 1 : 0;
    const args = [namePrefix, after, mostExamined, most, holderId, wantsViews, shownCount, identity];
    const read = async (reply: Reply[]): Promise<ListedPart<Item>> => {
      // The store has leases of another layout.
      if (reply.length === 0) throw new StoreFailure('no', 'unavailable');
      const { unused, ...part } = parseList(reply, parseItem);
      if (unused.length > 0) await this.unlist(keys, unused, turn);
      return part;
    };
    return commands.send({ run: scripts.list, keys, head, args: [LEASE_LAYOUT, ...args], read, turn });
  }

  /** Removes names from the index. If this fails, the names only cost time in the next list. */
  private async unlist(keys: readonly string[], names: readonly string[], turn: Turn): Promise<void> {
    const { commands, head } = this.options;
    const args = [LEASE_LAYOUT, JSON.stringify(names)];
    const unlisting = commands.send({ run: scripts.unlist, keys, head, args, read: () => undefined, turn });
    await unlisting.catch((error: unknown) => {
      if (!(error instanceof StoreFailure)) throw error;
    });
  }
}
