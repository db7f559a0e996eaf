/** Lists locks, one call after the other. */
import { ListOrder } from '../../generated/typescript/holdfast/v1/lease';
import { LockClient } from '../../test/support/clients/lease-client';
import { serveInBackground } from './serve-tasks';

const PAGE_SIZE = 500;
/** The size of a page by waiters, as an operator asks for it. */
const TOP = 50;

export interface Listed {
  /** Different names with the prefix. */
  readonly names: number;
  /** Names with the prefix that a page shows again. */
  readonly repeated: number;
  readonly pages: number;
}

let client: LockClient | undefined;

function locks(): LockClient {
  if (client === undefined) throw new Error('call connect first');
  return client;
}

const tasks = {
  connect: ({ address }: { address: string }) => {
    client = new LockClient(address);
    return Promise.resolve();
  },
  /** All pages of the list of all locks. */
  all: async ({ prefix }: { prefix: string }): Promise<Listed> => {
    const found = new Set<string>();
    let [repeated, pages] = [0, 0];
    let pageToken = '';
    do {
      const page = await locks().list({ pageSize: PAGE_SIZE, pageToken });
      for (const { name } of page.locks) {
        if (!name.startsWith(prefix)) continue;
        if (found.has(name)) repeated += 1;
        found.add(name);
      }
      pages += 1;
      pageToken = page.nextPageToken;
    } while (pageToken !== '');
    return { names: found.size, repeated, pages };
  },
  /** The locks with the most waiters. Resolves to the number of locks in the answer. */
  byWaiters: async (): Promise<number> => {
    const orderBy = ListOrder.LIST_ORDER_WAITER_COUNT;
    return (await locks().list({ pageSize: TOP, orderBy })).locks.length;
  },
};

export type ListTasks = typeof tasks;

serveInBackground(tasks);
