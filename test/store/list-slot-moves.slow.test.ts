import { bucketOf, slotOfBucket } from '../../src/redis/buckets';
import { allListed, sortedNames } from '../support/leases/lease-views';
import { Requester } from '../support/leases/lease-requester';
import { RedisClusterProcesses, type ClusterNode } from '../support/processes/redis-cluster';
import { is } from '../support/reply-kinds';
import { connectTestStore } from '../support/test-store';

const COUNT = 150;
const HOUR_MS = 3_600_000;

test('a list has each name once while slots move between nodes', async () => {
  const cluster = await RedisClusterProcesses.start();
  const store = await connectTestStore(cluster.url, { serverId: 's1', commandTimeoutMs: 10_000 });
  try {
    const { permits } = store;
    const locks = Array.from({ length: COUNT }, (_, i) => ({ service: 'lock', name: `moved ${i}` }) as const);
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
