import { randomUUID } from 'node:crypto';
import { credentials, Metadata } from '@grpc/grpc-js';
import { AcquireLockRequest, LockServiceClient } from '../../generated/typescript/holdfast/v1/lock_service';
import { eventually } from '../support/eventually';
import { lock, release, SessionStream } from '../support/clients/session-stream';
import { RedisProcess } from '../support/processes/redis-process';
import { RecordedSpans } from '../support/recorded-spans';
import { InProcessServer } from './in-process-server';

/** The spans of the whole server, with a real Redis. */

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';
const NAME = 'tracing/secret-name';
const HOLDER = 'secret-holder';

let redis: RedisProcess;
let server: InProcessServer;
const recorded = new RecordedSpans();
beforeAll(async () => {
  redis = await RedisProcess.start();
  server = await InProcessServer.start(redis.url, {}, recorded.spans);
});
beforeEach(() => recorded.clear());
afterAll(async () => {
  await server?.close();
  await redis?.close();
});

function traced(): Metadata {
  const metadata = new Metadata();
  metadata.set('traceparent', `00-${TRACE}-${PARENT}-01`);
  return metadata;
}

const ofCaller = { traceId: TRACE, parent: PARENT };

async function spanNamed(name: string) {
  return eventually(`a span ${name}`, () => recorded.named(name)[0]);
}

test('a failed unary call has a span with its reason, its caller as parent, and no name', async () => {
  const stub = new LockServiceClient(server.address, credentials.createInsecure());
  const held = await server.client().acquire({ name: NAME, holderId: HOLDER });
  recorded.clear();
  const request = {
    ...AcquireLockRequest.create({ name: NAME, holderId: HOLDER }),
    waitTimeout: { seconds: 0n, nanos: 0 },
  };
  await new Promise<void>((resolve) => stub.acquireLock(request, traced(), () => resolve()));
  expect(recorded.all).toEqual([
    {
      ...ofCaller,
      name: 'holdfast.v1.LockService/AcquireLock',
      attributes: {
        'rpc.system': 'grpc',
        'rpc.service': 'holdfast.v1.LockService',
        'rpc.method': 'AcquireLock',
        'rpc.grpc.status_code': 10,
        'holdfast.reason': 'CONTENDED',
      },
      isError: false,
      durationMs: expect.any(Number) as number,
    },
  ]);
  await server.client().release(held.leaseId);
  stub.close();
});

test('a hold stream has spans for its grant and its loss, and no span of its own', async () => {
  const client = server.client();
  const held = client.hold({ name: NAME, holderId: HOLDER });
  const { lease } = await held.next('granted');
  expect(await spanNamed('lease grant')).toMatchObject({
    attributes: { 'holdfast.service': 'lock' },
    parent: '',
  });
  await client.revoke({
    name: NAME,
    target: { $case: 'fencingToken', value: lease!.fencingToken },
  });
  expect(await spanNamed('lease loss')).toMatchObject({
    attributes: { 'holdfast.service': 'lock', 'holdfast.cause': 'revoked' },
    isError: true,
  });
  await held.ending;
  const names = recorded.all.map(({ name }) => name).sort();
  expect(names).toEqual(['holdfast.v1.LockService/RevokeLock', 'lease grant', 'lease loss']);
  expect(JSON.stringify(recorded.all)).not.toContain('secret');
});

test('the leases of a session have spans with the caller of the session as parent', async () => {
  const session = new SessionStream(server.address, { metadata: traced(), start: { holderId: HOLDER } });
  const number = session.run(lock(`${NAME}/${randomUUID()}`));
  await session.event(number, 'granted');
  session.run(release(number));
  await session.event(number, 'ended');
  session.close();
  expect(recorded.all).toMatchObject([
    { ...ofCaller, name: 'lease grant' },
    { ...ofCaller, name: 'lease release', isError: false, durationMs: 0 },
  ]);
});
