import { credentials, status } from '@grpc/grpc-js';
import { LockServiceClient, HoldLockRequest } from '../../generated/typescript/holdfast/v1/lock_service';
import { HealthClient } from '../../generated/typescript/grpc/health/v1/health';
import type { Call } from '../../src/base/call';
import { parseLeaseId } from '../../src/leases/lease-id';
import type { LeaseOwner } from '../../src/leases/lease-requests';
import { lock, SessionStream } from '../support/clients/session-stream';
import { eventually } from '../support/eventually';
import { TcpProxy } from '../support/proxy/tcp-proxy';
import { someLease } from './fake-engines';
import { acquireRequest, call, drainStream, failureOf, Harness, UUID_V4 } from './harness';
import { frame, RawConnection } from './raw-call';

/** Connections that reach their maximum age. */

const MAX_AGE_MS = 500;

let harness: Harness;
/** The connections of the calls that reached the engine. */
let connections: Set<object>;
/** The commands of sessions that have a lease. */
let owners: LeaseOwner[];
beforeEach(async () => {
  harness = await Harness.start({ connectionMaxAgeMs: MAX_AGE_MS });
  connections = new Set();
  owners = [];
  harness.permits.answers.take = (_call, _service, _start, owner) => grantTo(owner);
});
afterEach(() => harness.close());

/** Grants the acquires of sessions. */
function grantTo(owner: LeaseOwner): Promise<void> {
  const id = parseLeaseId('lock', someLease.leaseId);
  owner.send({ kind: 'granted', lease: someLease });
  owner.hold({ id, lastEnd: 0, abandon: () => undefined, revokeHeld: () => undefined });
  owners.push(owner);
  return Promise.resolve();
}

const seen = ({ connection }: Call): void => void connections.add(connection);

test('a client that sends calls all the time moves to new connections, and no call fails', async () => {
  harness.permits.answers.inspect = (engineCall) => {
    seen(engineCall);
    return Promise.reject(new Error('seen'));
  };
  const locks = harness.locks();
  let failures = 0;
  const ask = async (): Promise<void> => {
    const { code } = await failureOf(call(locks, locks.getLock, { name: 'a' }));
    if (code !== status.INTERNAL) failures += 1;
  };
  while (connections.size < 4) await Promise.all(Array.from({ length: 20 }, ask));
  expect(failures).toBe(0);
});

test('a call that was sent before the announcement arrived is repeated immediately, while an older call keeps the connection open', async () => {
  const port = Number(harness.target.split(':').at(-1));
  const proxy = await TcpProxy.open({ targetPort: port, protocol: 'tcp' });
  const locks = new LockServiceClient(proxy.address, credentials.createInsecure());
  harness.permits.answers.acquire = (engineCall) => {
    seen(engineCall);
    return new Promise(() => undefined);
  };
  harness.permits.answers.inspect = (engineCall) => {
    seen(engineCall);
    return Promise.reject(new Error('seen'));
  };
  let olderEnded = false;
  const older = failureOf(call(locks, locks.acquireLock, acquireRequest())).finally(
    () => (olderEnded = true),
  );
  await eventually('the older call', () => connections.size === 1);
  proxy.blackHole('toTarget');
  const onItsWay = failureOf(call(locks, locks.getLock, { name: 'a' }));
  // The client opens a second connection when it has read the announcement.
  await eventually('the second connection', () => proxy.connectionCount === 2);
  proxy.passEverything();
  expect((await onItsWay).code).toBe(status.INTERNAL);
  expect(olderEnded).toBe(false);
  expect(connections.size).toBe(2);
  expect(harness.permits.verbs).toEqual(['acquire', 'inspect']);
  locks.close();
  await proxy.close();
  await older;
});

test('a hold stream ends with REATTACH and an immediate retry, and its lease is not released', async () => {
  harness.permits.answers.hold = (_call, _service, _start, sink) => {
    sink.send({ kind: 'granted', lease: someLease });
    return new Promise(() => undefined);
  };
  const stream = harness.locks().holdLock({
    start: { $case: 'acquire', value: acquireRequest({ requestId: UUID_V4 }) },
  });
  const { messages, error } = await drainStream(stream);
  expect(messages).toHaveLength(1);
  expect(error?.code).toBe(status.UNAVAILABLE);
  expect(error?.details).toBe(
    'the connection has reached its maximum age: a lease or a wait continues; open the stream again [REATTACH]',
  );
  expect(error?.metadata.get('grpc-retry-pushback-ms')).toEqual(['0']);
  expect(harness.permits.verbs).toEqual(['hold']);
});

test('a session is asked to leave, continues, and ends with REATTACH when its last lease has ended', async () => {
  const session = new SessionStream(harness.target);
  const number = session.run(lock('a'));
  await session.event(number, 'granted');
  await eventually('leaving', () => session.responses.some(({ leaving }) => leaving !== undefined));
  await session.event(session.run(lock('b')), 'granted');
  for (const owner of owners) owner.end(undefined);
  const { code, reason, text, pushback } = await session.ending;
  expect([code, reason, pushback]).toEqual(['UNAVAILABLE', 'REATTACH', '0']);
  expect(text).toContain('the connection of this session has reached its maximum age');
  session.close();
});

test('a session without leases gets a delay for its next session, and ends with REATTACH', async () => {
  const session = new SessionStream(harness.target);
  expect((await session.ending).reason).toBe('REATTACH');
  expect(session.responses.at(-1)?.leaving?.retryDelay).toBeDefined();
  session.close();
});

test('a unary call that waits gets its answer on the old connection', async () => {
  harness.permits.answers.acquire = async () => {
    await new Promise((resolve) => setTimeout(resolve, 4 * MAX_AGE_MS));
    return someLease;
  };
  const locks = harness.locks();
  const { lease } = await call(locks, locks.acquireLock, acquireRequest());
  expect(lease?.name).toBe('hello');
});

test('a connection without calls is closed, also the connection of a client that ignores the announcement', async () => {
  const connection = new RawConnection(harness.target);
  await connection.call({ path: '/grpc.health.v1.Health/Check', body: frame(Buffer.alloc(0)) });
  await eventually('the end of the connection', () => connection.closed);
});

test('connections have no maximum age by default', async () => {
  const young = await Harness.start();
  const connection = new RawConnection(young.target);
  const hold = connection.open({ path: '/holdfast.v1.LockService/HoldLock' });
  young.permits.answers.hold = () => new Promise(() => undefined);
  hold.write(
    frame(HoldLockRequest.encode({ start: { $case: 'leaseId', value: someLease.leaseId } }).finish()),
  );
  hold.end();
  const health = young.client(HealthClient);
  await new Promise((resolve) => setTimeout(resolve, 2 * MAX_AGE_MS));
  expect(await call(health, health.check, { service: '' })).toEqual({ status: 1 });
  expect(connection.closed).toBe(false);
  connection.close();
  await young.close();
});
