import { closeAll } from '../support/close-all';
import { eventually } from '../support/eventually';
import { refusal } from '../support/clients/call-ending';
import { RedisProcess } from '../support/processes/redis-process';
import { InProcessServer } from './in-process-server';

/** The quotas of leases and waiters, for each connection, with a real Redis. */

let redis: RedisProcess;
let server: InProcessServer;
beforeAll(async () => {
  redis = await RedisProcess.start();
  server = await InProcessServer.start(redis.url, {
    HOLDFAST_QUOTA_LEASES: '3',
    HOLDFAST_QUOTA_WAITERS: '1',
  });
});
afterAll(() =>
  closeAll(
    () => server?.close(),
    () => redis?.close(),
  ),
);

test('a connection gets no more leases than its quota, also by waits, and a release makes room', async () => {
  const client = server.client();
  const other = server.client();
  const held = await other.acquire({ name: 'shared' });
  const waiter = client.acquire({ name: 'shared', waitMs: 60_000 });
  await eventually('the waiter', async () => (await other.get('shared')).waiterCount === 1);
  const first = await client.acquire({ name: 'a' });
  await client.acquire({ name: 'b' });
  expect(await refusal(client.acquire({ name: 'c' }))).toMatchObject({
    reason: 'QUOTA_EXCEEDED',
    metadata: { quota: 'leases', limit: '3' },
  });
  await other.release(held.leaseId);
  const granted = await waiter;
  await client.renew(granted.leaseId);
  await client.release(first.leaseId);
  await client.acquire({ name: 'c' });
  expect((await refusal(client.acquire({ name: 'd' }))).reason).toBe('QUOTA_EXCEEDED');
  // Another connection has quotas of its own.
  await other.acquire({ name: 'd' });
});

test('a connection has no more waiting requests than its quota, and still acquires free locks', async () => {
  const client = server.client();
  const other = server.client();
  const held = await other.acquire({ name: 'taken' });
  const waiter = client.acquire({ name: 'taken', waitMs: 60_000 });
  await eventually('the waiter', async () => (await other.get('taken')).waiterCount === 1);
  expect(await refusal(client.acquire({ name: 'taken', waitMs: 60_000 }))).toMatchObject({
    reason: 'QUOTA_EXCEEDED',
    metadata: { quota: 'waiters', limit: '1' },
  });
  await client.acquire({ name: 'free', waitMs: 60_000 });
  await other.release(held.leaseId);
  await waiter;
});
