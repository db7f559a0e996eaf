import { status } from '@grpc/grpc-js';
import { LockMode } from '../../generated/typescript/holdfast/v1/lease';
import type { AcquireLockRequest } from '../../generated/typescript/holdfast/v1/lock_service';
import { holdfastError } from '../../src/client';
import { someLease } from './fake-engine';
import { acquireRequest, call, drainStream, failureOf, Harness, UUID_V4 } from './harness';

let harness: Harness;
let client: ReturnType<Harness['locks']>;
beforeAll(async () => {
  harness = await Harness.start();
  client = harness.locks();
});
beforeEach(() => harness.engine.asked.splice(0));
afterAll(() => harness.close());

const ms = (value: number) => ({ seconds: BigInt(Math.trunc(value / 1000)), nanos: (value % 1000) * 1e6 });

const unknownMode = (value: number): LockMode => value;

/** What is wrong with one field of an acquire, and words of the description that must say so. */
const BAD_FIELDS: readonly (readonly [string, Partial<AcquireLockRequest>, string, string])[] = [
  ['no name', { name: '' }, 'name', 'is required'],
  ['a name of 513 bytes', { name: 'x'.repeat(513) }, 'name', '513 bytes'],
  ['a name of 171 characters and 513 bytes', { name: '€'.repeat(171) }, 'name', '513 bytes'],
  ['a name with NUL', { name: 'a\0b' }, 'name', 'control'],
  ['a name with a line break', { name: 'a\r\nb' }, 'name', 'control'],
  ['a name with an escape', { name: '\x1b[31mred' }, 'name', 'control'],
  ['a name with DEL', { name: 'a\x7f' }, 'name', 'control'],
  ['a name with a C1 control', { name: 'a\x85b' }, 'name', 'control'],
  ['a name with U+FFFD', { name: 'a\u{FFFD}b' }, 'name', 'U+FFFD'],
  ['a holder_id of 257 bytes', { holderId: 'x'.repeat(257) }, 'holder_id', '257 bytes'],
  ['a holder_id with an escape', { holderId: '\x1b[2J' }, 'holder_id', 'control'],
  ['a holder_id with U+FFFD', { holderId: '\u{FFFD}' }, 'holder_id', 'U+FFFD'],
  ['a ttl of zero', { ttl: ms(0) }, 'ttl', '0 ms'],
  ['a negative ttl', { ttl: ms(-5000) }, 'ttl', '-5 s'],
  ['a ttl below the least', { ttl: ms(99) }, 'ttl', 'from 100 ms to 2 min'],
  ['a ttl that only rounding would save', { ttl: { seconds: 0n, nanos: 99_999_999 } }, 'ttl', '99.999999 ms'],
  ['a ttl above the greatest', { ttl: ms(120_001) }, 'ttl', '120001 ms'],
  ['a ttl of int64 max', { ttl: { seconds: 2n ** 63n - 1n, nanos: 0 } }, 'ttl', 'no valid Duration'],
  ['a ttl of two signs', { ttl: { seconds: 1n, nanos: -1 } }, 'ttl', 'no valid Duration'],
  ['a ttl of too many nanos', { ttl: { seconds: 0n, nanos: 2_000_000_000 } }, 'ttl', 'no valid Duration'],
  ['a negative wait_timeout', { waitTimeout: ms(-1) }, 'wait_timeout', 'must not be negative'],
  ['a wait_timeout of two signs', { waitTimeout: { seconds: -1n, nanos: 1 } }, 'wait_timeout', 'no valid'],
  ['a request_id that is no UUID', { requestId: 'abc' }, 'request_id', 'version 4 or 7'],
  ['a UUID in braces', { requestId: `{${UUID_V4}}` }, 'request_id', 'version 4 or 7'],
  ['a UUID of version 1', { requestId: 'c232ab00-9414-11ec-b3c8-9f6bdeced846' }, 'request_id', 'version 4'],
  ['a UUID of version 5', { requestId: '2ed6657d-e927-568b-95e1-2665a8aea6a2' }, 'request_id', 'version 4'],
  ['the nil UUID', { requestId: '00000000-0000-0000-0000-000000000000' }, 'request_id', 'version 4'],
  ['the max UUID', { requestId: 'ffffffff-ffff-ffff-ffff-ffffffffffff' }, 'request_id', 'version 4'],
  ['a mode that does not exist', { mode: unknownMode(3) }, 'mode', '3 is no LockMode'],
  ['a negative mode', { mode: unknownMode(-1) }, 'mode', '-1 is no LockMode'],
  ['17 pairs of metadata', { metadata: pairs(17, 'v') }, 'metadata', '17 pairs'],
  [
    '4 KiB and a byte of metadata',
    { metadata: new Map([['k', 'v'.repeat(4096)]]) },
    'metadata',
    '4097 bytes',
  ],
  ['an empty key', { metadata: new Map([['', 'v']]) }, 'metadata', 'key'],
  ['a key with a line break', { metadata: new Map([['a\nb', 'v']]) }, 'metadata', 'key'],
];

function pairs(count: number, value: string): Map<string, string> {
  return new Map(Array.from({ length: count }, (_, index) => [`key${index}`, value]));
}

describe('INVALID_FIELD', () => {
  test.each(BAD_FIELDS)('AcquireLock, %s', async (_what, fields, field, words) => {
    const error = await failureOf(call(client, client.acquireLock, acquireRequest(fields)));
    expect(error.code).toBe(status.INVALID_ARGUMENT);
    expect(error.details).toMatch(/ \[INVALID_FIELD\]$/);
    expect(holdfastError(error)).toMatchObject({
      reason: 'INVALID_FIELD',
      violations: [{ field, description: expect.stringContaining(words) as string }],
    });
    expect(harness.engine.asked).toEqual([]);
  });

  test.each(BAD_FIELDS)('HoldLock, %s', async (_what, fields, field, words) => {
    const value = acquireRequest({ requestId: UUID_V4, ...fields });
    const { error } = await drainStream(client.holdLock({ start: { $case: 'acquire', value } }));
    expect(error?.code).toBe(status.INVALID_ARGUMENT);
    expect(holdfastError(error)).toMatchObject({
      reason: 'INVALID_FIELD',
      violations: [{ field: `acquire.${field}`, description: expect.stringContaining(words) as string }],
    });
    expect(harness.engine.asked).toEqual([]);
  });

  test('names every bad field at once', async () => {
    const error = await failureOf(
      call(
        client,
        client.acquireLock,
        acquireRequest({
          name: 'a\0\u{FFFD}',
          holderId: 'x'.repeat(300),
          mode: unknownMode(9),
          requestId: 'no',
          metadata: pairs(17, 'v'.repeat(300)),
          ttl: ms(1),
          waitTimeout: ms(-1),
        }),
      ),
    );
    expect(holdfastError(error)?.violations.map(({ field }) => field)).toEqual([
      'name',
      'name',
      'holder_id',
      'mode',
      'request_id',
      'metadata',
      'metadata',
      'ttl',
      'wait_timeout',
    ]);
    expect(error.details).toContain('; ttl is 1 ms');
  });

  test('HoldLock needs a request_id', async () => {
    const start = { $case: 'acquire', value: acquireRequest() } as const;
    const { error } = await drainStream(client.holdLock({ start }));
    expect(holdfastError(error)?.violations).toEqual([
      { field: 'acquire.request_id', description: 'is required: a UUID of version 4 or 7' },
    ]);
  });

  test('HoldLock needs a start', async () => {
    const { error } = await drainStream(client.holdLock({ start: undefined }));
    expect(holdfastError(error)?.violations).toEqual([
      { field: 'start', description: 'is required: acquire or lease_id' },
    ]);
  });

  test('RenewLock says that the ttl is wrong, and the lease_id too where it is', async () => {
    const ttl = ms(5);
    const good = await failureOf(call(client, client.renewLock, { leaseId: someLease.leaseId, ttl }));
    expect(holdfastError(good)?.violations.map(({ field }) => field)).toEqual(['ttl']);
    const both = await failureOf(call(client, client.renewLock, { leaseId: 'nonsense', ttl }));
    expect(holdfastError(both)?.violations.map(({ field }) => field)).toEqual(['ttl', 'lease_id']);
    expect(harness.engine.asked).toEqual([]);
  });

  test.each(['', 'a\nb', 'x'.repeat(513)])('GetLock checks its name', async (name) => {
    const error = await failureOf(call(client, client.getLock, { name }));
    expect(holdfastError(error)?.violations.map(({ field }) => field)).toEqual(['name']);
  });
});

test('a shared lock is asked for as one, in a unary call and in a stream', async () => {
  const request = acquireRequest({ mode: LockMode.LOCK_MODE_SHARED, requestId: UUID_V4 });
  await call(client, client.acquireLock, request);
  await drainStream(client.holdLock({ start: { $case: 'acquire', value: request } }));
  expect(harness.engine.asked).toMatchObject([
    { verb: 'acquire', service: 'lock', request: { mode: 'shared', permitCount: 1 } },
    { verb: 'hold', service: 'lock', start: { request: { mode: 'shared', permitCount: 1 } } },
  ]);
});

describe('what is data comes through as it is', () => {
  async function asked(fields: Partial<AcquireLockRequest>): Promise<unknown> {
    await call(client, client.acquireLock, acquireRequest(fields));
    const [last] = harness.engine.asked as { request: unknown }[];
    return last?.request;
  }

  test.each([
    'x',
    'x'.repeat(512),
    '€'.repeat(170),
    '😀'.repeat(128),
    '{}:*%?[]',
    '__proto__',
    'redis.call("FLUSHALL")',
    'a b\u{A0}c\u{2028}d',
    'a\u{301}',
    '\u{200B}',
  ])('the name %j', async (name) => {
    expect(await asked({ name })).toMatchObject({ name });
  });

  test('metadata with a key __proto__, control characters in values, and all the room there is', async () => {
    const metadata = new Map([
      ['__proto__', 'polluted'],
      ['constructor', 'a\nb\0'],
      ['big', 'v'.repeat(4096 - 9 - 8 - 11 - 4 - 3)],
    ]);
    const request = (await asked({ metadata })) as { metadata: Record<string, string> };
    expect(new Map(Object.entries(request.metadata))).toEqual(metadata);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  test('16 pairs, and a holder_id of 256 bytes', async () => {
    const holderId = 'ä'.repeat(128);
    expect(await asked({ holderId, metadata: pairs(16, '') })).toMatchObject({ holderId });
  });

  test('a request_id in capitals, as the store knows it: in small letters', async () => {
    expect(await asked({ requestId: UUID_V4.toUpperCase() })).toMatchObject({ requestId: UUID_V4 });
    const v7 = '01A1F89D-8653-7389-BF63-8DE08A05C850';
    harness.engine.asked.splice(0);
    expect(await asked({ requestId: v7 })).toMatchObject({ requestId: v7.toLowerCase() });
  });

  test.each([
    [undefined, 30_000],
    [ms(100), 100],
    [ms(120_000), 120_000],
    // Down, so that nobody holds longer than asked.
    [{ seconds: 1n, nanos: 999_999 }, 1000],
  ])('the ttl %j', async (ttl, ttlMs) => {
    expect(await asked({ ttl })).toMatchObject({ ttlMs });
  });

  test.each([
    [undefined, undefined],
    [ms(0), 0],
    // Up, so that a wait never becomes "try once".
    [{ seconds: 0n, nanos: 1 }, 1],
    [ms(2500), 2500],
    [{ seconds: 315_576_000_000n, nanos: 0 }, 315_576_000_000_000],
  ])('the wait_timeout %j', async (waitTimeout, waitTimeoutMs) => {
    expect(await asked({ waitTimeout })).toMatchObject({ waitTimeoutMs });
  });
});
