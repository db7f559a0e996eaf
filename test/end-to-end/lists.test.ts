import { ListOrder } from '../../generated/typescript/holdfast/v1/lease';
import type { ListLocksRequest } from '../../generated/typescript/holdfast/v1/lock_service';
import { refusal } from '../support/clients/calls';
import type { LockClient, SemaphoreClient } from '../support/clients/lease-client';
import { ServerPair, untilWaiterCount } from './server-pair';

let pair: ServerPair;
let client: LockClient;
let elsewhere: LockClient;
let pools: SemaphoreClient;

beforeAll(async () => {
  pair = await ServerPair.start();
  client = pair.first.client();
  elsewhere = pair.second.client();
  pools = pair.second.semaphores();
});

afterAll(() => pair?.close());

/** The names of all pages. Each page comes from the other server. */
async function allNames(fields: Partial<ListLocksRequest>): Promise<string[]> {
  const names: string[] = [];
  let pageToken = '';
  for (let page = 0; ; page += 1) {
    const { locks, nextPageToken } = await (page % 2 === 0 ? client : elsewhere).list({
      ...fields,
      pageToken,
    });
    names.push(...locks.map(({ name }) => name));
    if (nextPageToken === '') return names.sort();
    pageToken = nextPageToken;
  }
}

describe('ListLocks', () => {
  test('pages through the locks that are held, at any server', async () => {
    const names = Array.from({ length: 30 }, (_, i) => `paged/${i} {*}:ü`);
    const leases = await Promise.all(names.map((name) => client.acquire({ name })));
    expect(await allNames({ namePrefix: 'paged/', pageSize: 7 })).toEqual([...names].sort());
    await Promise.all(leases.slice(0, 10).map(({ leaseId }) => elsewhere.release(leaseId)));
    expect(await allNames({ namePrefix: 'paged/', pageSize: 7 })).toEqual(names.slice(10).sort());
  });

  test('answers each lock as GetLock does', async () => {
    const name = 'as shown';
    await client.acquire({ name, holderId: 'alice', metadata: { at: 'a:1' } });
    const { locks } = await elsewhere.list({ namePrefix: name });
    expect(locks).toEqual([await client.get(name)]);
  });

  test('finds the locks of a holder, and the calls that wait', async () => {
    await client.acquire({ name: 'found/1', holderId: 'worker 7' });
    await client.acquire({ name: 'found/2', holderId: 'worker 8' });
    const waiting = elsewhere.acquire({ name: 'found/2', holderId: 'worker 7', waitMs: 60_000 });
    await untilWaiterCount(client, 'found/2', 1);
    expect(await allNames({ holderId: 'worker 7' })).toEqual(['found/1', 'found/2']);
    expect(await allNames({ holderId: 'worker 8' })).toEqual(['found/2']);
    expect(await allNames({ holderId: 'worker' })).toEqual([]);
    const lock = await client.get('found/2');
    expect(lock.holders).toMatchObject([{ holderId: 'worker 8' }]);
    await client.revoke({ name: 'found/2', target: { $case: 'allHolders', value: true }, force: true });
    await waiting;
  });

  test('shows the most contended locks first with order_by', async () => {
    for (const [i, count] of [1, 3, 0, 2].entries()) {
      const name = `contended/${i}`;
      await client.acquire({ name });
      for (let waiter = 0; waiter < count; waiter += 1) {
        elsewhere.acquire({ name, waitMs: 600_000 }).catch(() => undefined);
      }
      await untilWaiterCount(client, name, count);
    }
    const orderBy = ListOrder.LIST_ORDER_WAITER_COUNT;
    const { locks, ...rest } = await client.list({ namePrefix: 'contended/', orderBy, pageSize: 3 });
    expect(locks.map(({ name, waiterCount }) => [name, waiterCount])).toEqual([
      ['contended/1', 3],
      ['contended/3', 2],
      ['contended/0', 1],
    ]);
    expect(rest).toEqual({ nextPageToken: '', sampled: false });
  });

  test('refuses a token of a list of semaphores', async () => {
    for (const name of ['a', 'b']) await pools.setLimit(`tokens/${name}`, 1);
    const { nextPageToken: pageToken } = await pools.list({ pageSize: 1 });
    expect(pageToken).not.toBe('');
    expect(await refusal(client.list({ pageSize: 1, pageToken }))).toMatchObject({ reason: 'INVALID_FIELD' });
  });
});

describe('ListSemaphores', () => {
  test('shows semaphores in use and idle ones until they are deleted', async () => {
    await pools.setLimit('pools/idle', 3);
    await pools.acquire({ name: 'pools/used', permitCount: 2, initialLimit: 5 });
    const shown = async () => (await pools.list({ namePrefix: 'pools/' })).semaphores;
    const [idle, used] = (await shown()).sort((a, b) => (a.name < b.name ? -1 : 1));
    expect(idle).toEqual(await pools.get('pools/idle'));
    expect(used).toMatchObject({ name: 'pools/used', limit: 5, usedCount: 2, holderCount: 1 });
    await pools.delete('pools/idle');
    await pools.delete('pools/used', true);
    expect(await shown()).toEqual([]);
  });
});
