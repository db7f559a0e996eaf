import { randomUUID } from 'node:crypto';
import { duration } from '../../clients/typescript';
import { closeAll } from '../support/eventually';
import { patiently, patientRefusal, promised } from '../support/clients/calls';
import { acquireRequest, LockClient, ms } from '../support/clients/lease-client';
import { RedisProcess } from '../support/processes/redis-process';
import { InProcessServer } from './in-process-server';

const CALLERS = 100;

let redis: RedisProcess;
let server: InProcessServer;
let client: LockClient;

beforeAll(async () => {
  redis = await RedisProcess.start();
  server = await InProcessServer.start(redis.url);
  client = new LockClient(server.address);
});

afterAll(() =>
  closeAll(
    () => client?.close(),
    () => server?.close(),
    () => redis?.close(),
  ),
);

/** Makes the calls of a caller with its own lock, and checks that every answer is about this lock. */
async function work(caller: number): Promise<void> {
  const [name, holderId, requestId] = [`of ${caller}`, `caller ${caller}`, randomUUID()];
  const lease = await patiently(() => client.acquire({ name, holderId, requestId, ttlMs: 20_000 }));
  expect(lease).toMatchObject({ name, requestId });
  const renewed = await client.renew(lease.leaseId, 30_000 + caller);
  expect(ms(renewed.ttl)).toBe(30_000 + caller);
  expect(await patiently(() => client.get(name))).toMatchObject({ name, holders: [{ holderId }] });
  expect((await client.release(lease.leaseId)).released).toBe(true);
}

/** Calls on the shared connection that fail. */
const FAILURES: readonly (() => Promise<void>)[] = [
  async function waitTimesOut() {
    const ending = await patientRefusal(() => client.acquire({ name: 'taken', waitMs: 300 }));
    expect(ending.reason).toBe('CONTENDED');
  },
  async function fieldIsMalformed() {
    const ttl = { seconds: 2n ** 62n, nanos: 2_000_000_000 };
    const request = { ...acquireRequest({ name: 'taken' }), ttl };
    const ending = await patientRefusal(() => promised((done) => client.stub.acquireLock(request, done)));
    expect(ending).toMatchObject({ code: 'INVALID_ARGUMENT', reason: 'INVALID_FIELD' });
  },
  async function waitIsCancelled() {
    const stream = client.hold({ name: 'taken', ttlMs: 20_000 });
    // A busy server may refuse the stream.
    await Promise.race([stream.next('queued').catch(() => undefined), stream.ending]);
    stream.cancel();
    expect(['CANCELLED', 'RESOURCE_EXHAUSTED']).toContain((await stream.ending).code);
  },
];

test('100 callers on one connection get their own answers, even while other calls fail (chapter 27)', async () => {
  await client.acquire({ name: 'taken', ttlMs: 60_000 });
  const failures = Array.from({ length: CALLERS }, (_, index) => FAILURES[index % FAILURES.length]?.());
  const works = Array.from({ length: CALLERS }, (_, caller) => work(caller));
  await Promise.all([...failures, ...works]);
  expect((await client.get('taken')).waiterCount).toBe(0);
});

test('the next call succeeds after Redis or the server has closed the connection (chapter 27)', async () => {
  const address = server.address;
  const { leaseId } = await client.acquire({ name: 'kept', ttlMs: 60_000 });
  await redis.command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
  expect(await client.renew(leaseId)).toMatchObject({ ttl: duration(60_000) });
  await server.close();
  server = await InProcessServer.start(redis.url, { HOLDFAST_LISTEN: address });
  expect((await client.release(leaseId)).released).toBe(true);
});
