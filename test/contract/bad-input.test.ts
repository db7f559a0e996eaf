import { gzipSync } from 'node:zlib';
import { status } from '@grpc/grpc-js';
import { AcquireLockRequest } from '../../generated/typescript/holdfast/v1/lock_service';
import { MAX_HEADER_BYTES } from '../../src/transport/grpc/call';
import { acquireRequest, call, Harness } from './harness';
import { frame, RawConnection, type RawCall } from './raw-call';

const ACQUIRE = '/holdfast.v1.LockService/AcquireLock';
const good = frame(AcquireLockRequest.encode(acquireRequest()).finish());

let harness: Harness;
let connection: RawConnection;
beforeAll(async () => {
  harness = await Harness.start();
  connection = new RawConnection(harness.target);
});
beforeEach(() => harness.engine.asked.splice(0));
afterAll(async () => {
  connection.close();
  await harness.close();
});
/** After each: the connection still serves a good call. */
afterEach(async () => {
  expect(await connection.call({ path: ACQUIRE, body: good })).toMatchObject({ code: status.OK });
  expect(connection.closed).toBe(false);
  expect(harness.logged).toEqual([]);
});

interface BadCall extends Partial<RawCall> {
  readonly what: string;
  readonly code: status;
  /** Undefined: the gRPC library's own errors have none. */
  readonly reason?: string;
}

const gzip = { 'grpc-encoding': 'gzip' };
const fat = 'x'.repeat(MAX_HEADER_BYTES);

const BAD_CALLS: readonly BadCall[] = [
  {
    what: 'a name that is no UTF-8',
    body: frame(Buffer.from([10, 3, 0x61, 0xff, 0x62])),
    code: status.INVALID_ARGUMENT,
    reason: 'INVALID_FIELD',
  },
  {
    what: 'a name that is cut in the middle of a character',
    body: frame(Buffer.from([10, 3, 0x61, 0xe2, 0x82])),
    code: status.INVALID_ARGUMENT,
    reason: 'INVALID_FIELD',
  },
  { what: 'a message that is cut off', body: frame(Buffer.from([10, 50, 0x61])), code: status.INTERNAL },
  { what: 'bytes that are no message', body: frame(Buffer.alloc(20, 0xff)), code: status.INTERNAL },
  {
    what: 'a message over 4 MiB',
    body: frame(Buffer.alloc(4 * 1024 * 1024 + 1)),
    code: status.RESOURCE_EXHAUSTED,
  },
  {
    what: 'a frame that says it is 4 GiB',
    body: Buffer.from([0, 255, 255, 255, 255, 1, 2, 3]),
    code: status.RESOURCE_EXHAUSTED,
  },
  {
    what: 'gzip that is none',
    headers: gzip,
    body: frame(Buffer.from('no gzip at all'), true),
    code: status.INTERNAL,
  },
  {
    what: 'gzip that is cut off',
    headers: gzip,
    body: frame(gzipSync(Buffer.alloc(1000)).subarray(0, 15), true),
    code: status.INTERNAL,
  },
  {
    what: 'gzip that unpacks to more than 4 MiB',
    headers: gzip,
    body: frame(gzipSync(Buffer.alloc(8 * 1024 * 1024)), true),
    code: status.RESOURCE_EXHAUSTED,
  },
  {
    what: 'a compression that nobody knows',
    headers: { 'grpc-encoding': 'zip' },
    body: frame(Buffer.from('x'), true),
    code: status.UNIMPLEMENTED,
  },
  { what: 'no message at all', body: Buffer.alloc(0), code: status.UNIMPLEMENTED },
  { what: 'two messages', body: Buffer.concat([good, good]), code: status.UNIMPLEMENTED },
  { what: 'an unknown method', path: '/holdfast.v1.LockService/StealLock', code: status.UNIMPLEMENTED },
  { what: 'an unknown service', path: '/holdfast.v2.LockService/AcquireLock', code: status.UNIMPLEMENTED },
  {
    what: 'fat headers',
    headers: { 'x-note': fat },
    code: status.RESOURCE_EXHAUSTED,
    reason: 'QUOTA_EXCEEDED',
  },
  {
    what: 'fat headers, of many small ones',
    headers: Object.fromEntries(
      Array.from({ length: 100 }, (_, index) => [`x-note-${index}`, 'x'.repeat(200)]),
    ),
    code: status.RESOURCE_EXHAUSTED,
    reason: 'QUOTA_EXCEEDED',
  },
  {
    what: 'fat binary headers',
    headers: { 'x-note-bin': Buffer.from(fat).toString('base64') },
    code: status.RESOURCE_EXHAUSTED,
    reason: 'QUOTA_EXCEEDED',
  },
  {
    what: 'fat headers of a stream',
    path: '/holdfast.v1.LockService/HoldLock',
    headers: { 'x-note': fat },
    code: status.RESOURCE_EXHAUSTED,
    reason: 'QUOTA_EXCEEDED',
  },
  { what: 'a timeout that is none', headers: { 'grpc-timeout': 'soon' }, code: status.INTERNAL },
];

test.each(BAD_CALLS)('$what', async ({ code, reason, path = ACQUIRE, headers = {}, body = good }) => {
  const outcome = await connection.call({ path, headers, body });
  expect(outcome).toMatchObject({ code, reason });
  expect(outcome.message.endsWith(']')).toBe(reason !== undefined);
  expect(harness.engine.asked).toEqual([]);
});

test('a message of 4 MiB less a little is read', async () => {
  const request = acquireRequest({ name: 'x'.repeat(4 * 1024 * 1024 - 10) });
  const body = frame(AcquireLockRequest.encode(request).finish());
  const outcome = await connection.call({ path: ACQUIRE, body });
  expect(outcome).toMatchObject({ code: status.INVALID_ARGUMENT, reason: 'INVALID_FIELD' });
});

test('headers of half the bound are no problem', async () => {
  const headers = { 'x-note': 'x'.repeat(MAX_HEADER_BYTES / 2) };
  expect(await connection.call({ path: ACQUIRE, headers, body: good })).toMatchObject({ code: status.OK });
});

test('gzip that is right is read', async () => {
  const body = frame(gzipSync(AcquireLockRequest.encode(acquireRequest()).finish()), true);
  expect(await connection.call({ path: ACQUIRE, headers: gzip, body })).toMatchObject({ code: status.OK });
});

test('more headers than HTTP/2 itself takes end the one call', async () => {
  const many = Array.from({ length: 400 }, (_, index) => [`x-note-${index}`, 'x']);
  const outcome = await connection.call({ path: ACQUIRE, headers: Object.fromEntries(many), body: good });
  expect(outcome.code).toBeUndefined();
  expect(harness.engine.asked).toEqual([]);
});

test('what is not gRPC gets an HTTP status', async () => {
  const { headers } = await connection.call({ path: ACQUIRE, headers: { 'content-type': 'text/html' } });
  expect(headers[':status']).toBe(415);
});

test('a thousand bad calls at once leave nothing behind', async () => {
  const bodies = BAD_CALLS.flatMap(({ body }) => (body && body.length < 1000 ? [body] : []));
  const calls = Array.from({ length: 1000 }, (_, index) =>
    connection.call({ path: ACQUIRE, body: bodies[index % bodies.length]! }),
  );
  for (const { code } of await Promise.all(calls)) expect(code).toBeGreaterThan(0);
});

test('a good client is served beside all that', async () => {
  const client = harness.locks();
  const answer = await call(client, client.acquireLock, acquireRequest());
  expect(answer.lease?.name).toBe('hello');
});
