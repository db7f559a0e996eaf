import { gzipSync } from 'node:zlib';
import { status } from '@grpc/grpc-js';
import { AcquireLockRequest } from '../../generated/typescript/holdfast/v1/lock_service';
import { MAX_HEADER_BYTES } from '../../src/rpc/handlers';
import { MAX_REQUEST_BYTES } from '../../src/rpc/entry/intake';
import { acquireRequest, call, Harness } from './harness';
import { frame, RawConnection, type RawCall } from './raw-call';

const ACQUIRE = '/holdfast.v1.LockService/AcquireLock';
const goodBody = frame(AcquireLockRequest.encode(acquireRequest()).finish());

let harness: Harness;
let connection: RawConnection;
beforeAll(async () => {
  harness = await Harness.start();
  connection = new RawConnection(harness.target);
});
beforeEach(() => harness.permits.calls.splice(0));
afterAll(async () => {
  connection.close();
  await harness.close();
});
afterEach(async () => {
  // A bad call must not break its connection: the next good call is answered.
  expect(await connection.call({ path: ACQUIRE, body: goodBody })).toMatchObject({ code: status.OK });
  expect(connection.closed).toBe(false);
  expect(harness.logged).toEqual([]);
});

interface BadCall extends Partial<RawCall> {
  readonly title: string;
  readonly code: status;
  /** Undefined for an error of the gRPC library. Such an error has no reason. */
  readonly reason?: string;
}

const gzip = { 'grpc-encoding': 'gzip' };
const large = 'x'.repeat(MAX_HEADER_BYTES);

const BAD_CALLS: readonly BadCall[] = [
  {
    title: 'a name of invalid UTF-8',
    body: frame(Buffer.from([10, 3, 0x61, 0xff, 0x62])),
    code: status.INVALID_ARGUMENT,
    reason: 'INVALID_FIELD',
  },
  {
    title: 'a name that ends inside a character',
    body: frame(Buffer.from([10, 3, 0x61, 0xe2, 0x82])),
    code: status.INVALID_ARGUMENT,
    reason: 'INVALID_FIELD',
  },
  { title: 'a truncated message', body: frame(Buffer.from([10, 50, 0x61])), code: status.INTERNAL },
  { title: 'bytes that are not a message', body: frame(Buffer.alloc(20, 0xff)), code: status.INTERNAL },
  {
    title: 'a message over 64 KiB',
    body: frame(Buffer.alloc(MAX_REQUEST_BYTES + 1)),
    code: status.RESOURCE_EXHAUSTED,
    reason: 'QUOTA_EXCEEDED',
  },
  {
    title: 'a frame header of 4 GiB',
    body: Buffer.from([0, 255, 255, 255, 255, 1, 2, 3]),
    code: status.RESOURCE_EXHAUSTED,
    reason: 'QUOTA_EXCEEDED',
  },
  {
    title: 'a body that is not gzip',
    headers: gzip,
    body: frame(Buffer.from('no gzip at all'), true),
    code: status.INTERNAL,
  },
  {
    title: 'a truncated gzip body',
    headers: gzip,
    body: frame(gzipSync(Buffer.alloc(1000)).subarray(0, 15), true),
    code: status.INTERNAL,
  },
  {
    title: 'a gzip body of more than 64 KiB unpacked',
    headers: gzip,
    body: frame(gzipSync(Buffer.alloc(MAX_REQUEST_BYTES + 1)), true),
    code: status.RESOURCE_EXHAUSTED,
  },
  {
    title: 'an unknown compression',
    headers: { 'grpc-encoding': 'zip' },
    body: frame(Buffer.from('x'), true),
    code: status.UNIMPLEMENTED,
  },
  { title: 'no message', body: Buffer.alloc(0), code: status.UNIMPLEMENTED },
  { title: 'two messages', body: Buffer.concat([goodBody, goodBody]), code: status.UNIMPLEMENTED },
  { title: 'an unknown method', path: '/holdfast.v1.LockService/StealLock', code: status.UNIMPLEMENTED },
  { title: 'an unknown service', path: '/holdfast.v2.LockService/AcquireLock', code: status.UNIMPLEMENTED },
  {
    title: 'large headers',
    headers: { 'x-note': large },
    code: status.RESOURCE_EXHAUSTED,
    reason: 'QUOTA_EXCEEDED',
  },
  {
    title: 'many small headers that are large together',
    headers: Object.fromEntries(
      Array.from({ length: 100 }, (_, index) => [`x-note-${index}`, 'x'.repeat(200)]),
    ),
    code: status.RESOURCE_EXHAUSTED,
    reason: 'QUOTA_EXCEEDED',
  },
  {
    title: 'large binary headers',
    headers: { 'x-note-bin': Buffer.from(large).toString('base64') },
    code: status.RESOURCE_EXHAUSTED,
    reason: 'QUOTA_EXCEEDED',
  },
  {
    title: 'large headers to a streaming method',
    path: '/holdfast.v1.LockService/HoldLock',
    headers: { 'x-note': large },
    code: status.RESOURCE_EXHAUSTED,
    reason: 'QUOTA_EXCEEDED',
  },
  { title: 'a malformed timeout', headers: { 'grpc-timeout': 'soon' }, code: status.INTERNAL },
];

test.each(BAD_CALLS)(
  'a call with $title gets an error and does not reach the engine',
  async ({ code, reason, path = ACQUIRE, headers = {}, body = goodBody }) => {
    const outcome = await connection.call({ path, headers, body });
    expect(outcome).toMatchObject({ code, reason });
    expect(outcome.message.endsWith(']')).toBe(reason !== undefined);
    expect(harness.permits.calls).toEqual([]);
  },
);

test('the field checks read a message just below 64 KiB', async () => {
  const request = acquireRequest({ name: 'x'.repeat(MAX_REQUEST_BYTES - 10) });
  const body = frame(AcquireLockRequest.encode(request).finish());
  const outcome = await connection.call({ path: ACQUIRE, body });
  expect(outcome).toMatchObject({ code: status.INVALID_ARGUMENT, reason: 'INVALID_FIELD' });
});

test('a call with headers of half the bound is answered', async () => {
  const headers = { 'x-note': 'x'.repeat(MAX_HEADER_BYTES / 2) };
  expect(await connection.call({ path: ACQUIRE, headers, body: goodBody })).toMatchObject({
    code: status.OK,
  });
});

test('a call with a gzip body is answered', async () => {
  const body = frame(gzipSync(AcquireLockRequest.encode(acquireRequest()).finish()), true);
  expect(await connection.call({ path: ACQUIRE, headers: gzip, body })).toMatchObject({ code: status.OK });
});

test('a call with more headers than HTTP/2 allows ends without a status, and its connection stays open', async () => {
  const many = Array.from({ length: 400 }, (_, index) => [`x-note-${index}`, 'x']);
  const outcome = await connection.call({ path: ACQUIRE, headers: Object.fromEntries(many), body: goodBody });
  expect(outcome.code).toBeUndefined();
  expect(harness.permits.calls).toEqual([]);
});

test('a request that is not gRPC gets the HTTP status 415', async () => {
  const { headers } = await connection.call({ path: ACQUIRE, headers: { 'content-type': 'text/html' } });
  expect(headers[':status']).toBe(415);
});

test('each of 1000 concurrent bad calls on one connection gets an error', async () => {
  const bodies = BAD_CALLS.flatMap(({ body }) => (body && body.length < 1000 ? [body] : []));
  const calls = Array.from({ length: 1000 }, (_, index) =>
    connection.call({ path: ACQUIRE, body: bodies[index % bodies.length]! }),
  );
  for (const { code } of await Promise.all(calls)) expect(code).toBeGreaterThan(0);
});

test('another client is served while the connection of the bad calls is open', async () => {
  const client = harness.locks();
  const answer = await call(client, client.acquireLock, acquireRequest());
  expect(answer.lease?.name).toBe('hello');
});
