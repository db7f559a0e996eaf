import { InProcessServer } from '../end-to-end/in-process-server';
import { closeAll } from '../support/eventually';
import { RedisProcess } from '../support/processes/redis-process';
import type { SuiteStore } from './suite/stores/store';
import { StoreView } from './suite/store-view';

test('the fault suite sees each held lease in the store, few or many of one name, and which of them are missing', async () => {
  const redis = await RedisProcess.start();
  const server = await InProcessServer.start(redis.url);
  try {
    await server.client().acquire({ name: 'a:state:b', ttlMs: 60_000 });
    const many = { name: 'many', initialLimit: 40, ttlMs: 60_000 };
    const permits = server.semaphores();
    await Promise.all(Array.from({ length: 40 }, () => permits.acquire(many)));
    const view = new StoreView({ masters: () => Promise.resolve([redis]) } as unknown as SuiteStore);
    const before = await view.leases();
    expect(before.size).toBe(41);
    expect(await view.missing(before)).toBe(0);
    await redis.command('FLUSHALL');
    expect(await view.missing(before)).toBe(41);
  } finally {
    await closeAll(
      () => server.closeDespiteWarnings(),
      () => redis.close(),
    );
  }
});
