import type { ResourcePage } from '../../../src/leases/lease-requests';
import { systemIdentities } from '../../../src/base/runtime';
import { ResourceLists } from '../../../src/leases/resource-lists';
import { bucketOf, slotOfBucket } from '../../../src/redis/buckets';
import { FakeCall } from '../../support/fake-call';
import { BusyNames, holdNames, Requester } from '../../support/leases/lease-requester';
import { allListed, namesOfOneBucket, sortedNames } from '../../support/leases/lease-views';
import { ManualClock, runtimeOn } from '../../support/manual-clock';
import { type ClusterNode, RedisClusterProcesses } from '../../support/processes/redis-cluster';
import { RedisProcess } from '../../support/processes/redis-process';
import { is } from '../../support/reply-kinds';
import { connectTestStore, type Store } from '../../support/test-store';

const COUNT = 20_000;
const BUSY_CLIENTS = 8;
const BUSY_NAMES_EACH = 50;

/** One bucket with more names than a step of a list looks at. */
const SAME_BUCKET = 300;

/** 10,811 names have the prefix `held/1`, fewer than a list by waiters compares. */
const heldNames = [
  ...Array.from({ length: COUNT - SAME_BUCKET }, (_, i) => `held/${i}`),
  ...namesOfOneBucket(SAME_BUCKET, 'held/same/'),
];

describe(`lists of ${COUNT} held locks while other locks are acquired and released`, () => {
  let redis: RedisProcess;
  let store: Store;
  let busy: BusyNames | undefined;

  beforeAll(async () => {
    redis = await RedisProcess.start({ inMemory: true });
    store = await connectTestStore(redis.url, { serverId: 's1', commandTimeoutMs: 20_000 });
    const server = { id: 's1', store: store.permits };
    await holdNames(server, heldNames);
    const namesOf = (client: number) =>
      Array.from({ length: BUSY_NAMES_EACH }, (_, i) => `busy/${client}/${i}`);
    busy = new BusyNames(
      server,
      Array.from({ length: BUSY_CLIENTS }, (_, client) => namesOf(client)),
    );
  });
  afterAll(async () => {
    await busy?.stop();
    store?.close();
    await redis?.close();
  });

  /** The clock stands still, so the speed of the machine ends no page. */
  function byWaiters(namePrefix: string): Promise<ResourcePage> {
    const clock = new ManualClock();
    const lists = new ResourceLists(store.permits, runtimeOn(clock, { identities: systemIdentities }));
    const all = { holderId: '', identity: '', pageToken: '' };
    const request = { ...all, namePrefix, pageSize: 3, order: 'waiter-count' } as const;
    return lists.page(new FakeCall(clock), 'lock', request);
  }

  it.each([500, 37])(
    'in pages of %i have each held lock exactly once, and no other lock twice',
    async (pageSize) => {
      const names = sortedNames(await allListed(store.permits, 'lock', { pageSize }));
      expect(names.filter((name) => name.startsWith('held/'))).toEqual([...heldNames].sort());
      expect(new Set(names).size).toBe(names.length);
    },
  );

  it('by prefix have exactly the held locks with the prefix', async () => {
    const names = sortedNames(await allListed(store.permits, 'lock', { namePrefix: 'held/19' }));
    expect(names).toEqual(heldNames.filter((name) => name.startsWith('held/19')).sort());
  });

  it('by waiters have the most contended locks first, or say that locks may be missing', async () => {
    const queues = { 'held/17': 3, 'held/1': 2, 'held/19': 1 };
    for (const [name, count] of Object.entries(queues)) {
      for (let i = 0; i < count; i += 1) {
        const waiter = new Requester({ id: 's1', store: store.permits }, { service: 'lock', name });
        is('waiting', await waiter.queue());
      }
    }
    const { resources, sampled } = await byWaiters('held/1');
    expect(resources.map(({ name }) => name)).toEqual(Object.keys(queues));
    expect(sampled).toBe(false);
    expect((await byWaiters('')).sampled).toBe(true);
  });
});

describe('a list over a Cluster', () => {
  const COUNT = 150;
  const HOUR_MS = 3_600_000;

  test('a list has each name once while slots move between nodes', async () => {
    const cluster = await RedisClusterProcesses.start();
    const store = await connectTestStore(cluster.url, { serverId: 's1', commandTimeoutMs: 10_000 });
    try {
      const { permits } = store;
      const locks = Array.from(
        { length: COUNT },
        (_, i) => ({ service: 'lock', name: `moved ${i}` }) as const,
      );
      for (const lock of locks) {
        is('granted', await new Requester({ id: 's1', store: permits }, lock, { ttlMs: HOUR_MS }).try());
      }
      // In the order of the list, so that the moves are near the place where the list is.
      const slots = [
        ...new Set(
          locks
            .map(({ name }) => bucketOf(name))
            .sort((a, b) => a - b)
            .map(slotOfBucket),
        ),
      ];
      let moves = 0;
      let pages = 0;
      const moving = (async () => {
        for (const [index, slot] of slots.entries()) {
          const target = cluster.nodes[index % cluster.nodes.length] as ClusterNode;
          await cluster.moveSlot(slot, target);
          moves += 1;
        }
      })();
      do {
        const views = await allListed(permits, 'lock', { pageSize: 10 }, () => void (pages += 1));
        expect(sortedNames(views)).toEqual(sortedNames(locks));
      } while (moves < slots.length);
      await moving;
      expect(pages).toBeGreaterThan(COUNT / 10);
    } finally {
      store.close();
      await cluster.close();
    }
  }, 300_000);
});
