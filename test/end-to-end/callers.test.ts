import { connect, type Holdfast } from '../../clients/typescript';
import {
  ListCallersRequest,
  ServerServiceService,
} from '../../generated/typescript/holdfast/v1/server_service';
import { closeAll, eventuallyPasses } from '../support/eventually';
import { RedisProcess } from '../support/processes/redis-process';
import { InProcessServer } from './in-process-server';

/** The leases and waits in the list of callers, with a real Redis and no quotas. */

let redis: RedisProcess;
let server: InProcessServer;
let hf: Holdfast;
beforeAll(async () => {
  redis = await RedisProcess.start({ appendfsync: 'no' });
  server = await InProcessServer.start(redis.url);
  hf = await connect(server.address, { timeout: '30s' });
});
afterAll(() =>
  closeAll(
    () => hf?.close(),
    () => server?.closeDespiteWarnings(),
    () => redis?.close(),
  ),
);

/** The leases, waiters and streams of the only caller. */
async function counts(): Promise<readonly number[]> {
  const { callers } = await hf.call(ServerServiceService.listCallers, ListCallersRequest.create());
  expect(callers.map(({ address }) => address)).toEqual(['127.0.0.1']);
  return callers.flatMap((caller) => [caller.leaseCount, caller.waiterCount, caller.streamCount]);
}

const becomes = (leases: number, waiters: number, streams: number) =>
  eventuallyPasses('the counts', async () => expect(await counts()).toEqual([leases, waiters, streams]));

test('leases of single calls count until their release, or until the end of their ttl', async () => {
  const client = server.client();
  const first = await client.acquire({ name: 'a' });
  await client.acquire({ name: 'b', ttlMs: 1000 });
  expect((await counts())[0]).toBe(2);
  await client.renew(first.leaseId);
  expect((await counts())[0]).toBeGreaterThanOrEqual(1);
  await client.release(first.leaseId);
  // The client library has a session.
  await becomes(0, 0, 1);
});

test('a wait counts until it is granted, and a session counts once with all its leases', async () => {
  const client = server.client();
  const held = await client.acquire({ name: 'taken' });
  const stop = new AbortController();
  const waiting = hf.lock('taken', { ttl: '30s', wait: '60s' });
  const givenUp = hf.lock('taken', { wait: '60s', signal: stop.signal }).catch(() => undefined);
  await becomes(1, 2, 1);
  stop.abort();
  await givenUp;
  await becomes(1, 1, 1);
  await client.release(held.leaseId);
  const lease = await waiting;
  await becomes(1, 0, 1);
  await lease.release();
  await becomes(0, 0, 1);
});
