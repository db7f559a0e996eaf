import { ResourceLists } from '../../src/leases/resource-lists';
import type { ResourcePage } from '../../src/leases/lease-requests';
import type { Store } from '../../src/server/open-store';
import { FakeCall } from '../support/fake-call';
import { BusyNames, holdNames, Requester } from '../support/leases/lease-requester';
import { allListed, namesOfOneBucket, sortedNames } from '../support/leases/lease-views';
import { ManualClock, runtimeOn } from '../support/manual-clock';
import { RedisProcess } from '../support/processes/redis-process';
import { is } from '../support/reply-kinds';
import { connectTestStore } from '../support/test-store';
import { systemIdentities } from '../../src/base/runtime';

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
