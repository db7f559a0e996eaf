import { status } from '@grpc/grpc-js';
import { holdfastError } from '../../../clients/typescript';
import { LockMode } from '../../../generated/typescript/holdfast/v1/lease';
import type { RevokeLockRequest } from '../../../generated/typescript/holdfast/v1/lock_service';
import { SemaphoreServiceClient } from '../../../generated/typescript/holdfast/v1/semaphore_service';
import type { Service } from '../../../src/leases/lease';
import { call, failureOf, Harness, UUID_V4 } from '../../contract/harness';
import { ms } from '../../contract/lease-messages';
import { type Fields, leaseCalls, type LeaseCalls, leaseOf, SERVICES } from '../../contract/services';

let harness: Harness;
const calls = {} as Record<Service, LeaseCalls>;
beforeAll(async () => {
  harness = await Harness.start();
  for (const service of SERVICES) calls[service] = leaseCalls(harness, service);
});
beforeEach(() => harness.permits.calls.splice(0));
afterAll(() => harness.close());

const unknownMode = (value: number): LockMode => value;

const BAD_NAMES = ['', 'a\nb', 'x'.repeat(513)];

/** One bad field of an acquire, its path, and a part of its description. */
type BadField = readonly [title: string, Fields, field: string, words: string];
const BAD_FIELDS: readonly BadField[] = [
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
  ['a ttl below the minimum', { ttl: ms(99) }, 'ttl', 'from 100 ms to 2 min'],
  [
    'a ttl that reaches the minimum only by rounding up',
    { ttl: { seconds: 0n, nanos: 99_999_999 } },
    'ttl',
    '99.999999 ms',
  ],
  ['a ttl above the maximum', { ttl: ms(120_001) }, 'ttl', '120001 ms'],
  ['a ttl of int64 max', { ttl: { seconds: 2n ** 63n - 1n, nanos: 0 } }, 'ttl', 'not a valid Duration'],
  ['a ttl with two signs', { ttl: { seconds: 1n, nanos: -1 } }, 'ttl', 'not a valid Duration'],
  ['a ttl of too many nanos', { ttl: { seconds: 0n, nanos: 2_000_000_000 } }, 'ttl', 'not a valid Duration'],
  ['a negative wait_timeout', { waitTimeout: ms(-1) }, 'wait_timeout', 'must not be negative'],
  [
    'a wait_timeout with two signs',
    { waitTimeout: { seconds: -1n, nanos: 1 } },
    'wait_timeout',
    'not a valid',
  ],
  ['a request_id that is not a UUID', { requestId: 'abc' }, 'request_id', 'version 4 or 7'],
  ['a UUID in braces', { requestId: `{${UUID_V4}}` }, 'request_id', 'version 4 or 7'],
  ['a UUID of version 1', { requestId: 'c232ab00-9414-11ec-b3c8-9f6bdeced846' }, 'request_id', 'version 4'],
  ['a UUID of version 5', { requestId: '2ed6657d-e927-568b-95e1-2665a8aea6a2' }, 'request_id', 'version 4'],
  ['the nil UUID', { requestId: '00000000-0000-0000-0000-000000000000' }, 'request_id', 'version 4'],
  ['the max UUID', { requestId: 'ffffffff-ffff-ffff-ffff-ffffffffffff' }, 'request_id', 'version 4'],
  ['17 pairs of metadata', { metadata: pairs(17, 'v') }, 'metadata', '17 pairs'],
  ['4097 bytes of metadata', { metadata: new Map([['k', 'v'.repeat(4096)]]) }, 'metadata', '4097 bytes'],
  ['an empty metadata key', { metadata: new Map([['', 'v']]) }, 'metadata', 'key'],
  ['a metadata key with a line break', { metadata: new Map([['a\nb', 'v']]) }, 'metadata', 'key'],
];

/** Bad values of the fields that only one service has. */
const OWN_BAD_FIELDS: Readonly<Record<Service, readonly BadField[]>> = {
  lock: [
    ['an unknown mode', { mode: unknownMode(3) }, 'mode', '3 is not a LockMode'],
    ['a negative mode', { mode: unknownMode(-1) }, 'mode', '-1 is not a LockMode'],
  ],
  semaphore: [
    ['a permit_count of 0', { permitCount: 0 }, 'permit_count', 'is 0 and must be at least 1'],
    ['a negative permit_count', { permitCount: -1 }, 'permit_count', 'is -1 and must be at least 1'],
    ['a permit_count of int32 min', { permitCount: -(2 ** 31) }, 'permit_count', 'is -2147483648'],
    ['a negative initial_limit', { initialLimit: -1 }, 'initial_limit', 'is -1 and must be at least 0'],
  ],
};

function pairs(count: number, value: string): Map<string, string> {
  return new Map(Array.from({ length: count }, (_, index) => [`key${index}`, value]));
}

async function violationsOf(pending: Promise<unknown>): Promise<string[] | undefined> {
  const error = await failureOf(pending);
  return holdfastError(error)?.violations.map(({ field }) => field);
}

describe.each(SERVICES)('the %s service answers INVALID_FIELD', (service) => {
  const bad = [...BAD_FIELDS, ...OWN_BAD_FIELDS[service]];

  test.each(bad)('for %s in a unary call', async (_title, fields, field, words) => {
    const error = await failureOf(calls[service].acquire(fields));
    expect(error.code).toBe(status.INVALID_ARGUMENT);
    expect(error.details).toMatch(/ \[INVALID_FIELD\]$/);
    expect(holdfastError(error)).toMatchObject({
      reason: 'INVALID_FIELD',
      violations: [{ field, description: expect.stringContaining(words) as string }],
    });
    expect(harness.permits.calls).toEqual([]);
  });

  test.each(bad)('for %s in a stream', async (_title, fields, field, words) => {
    const value = { requestId: UUID_V4, ...fields };
    const { error } = await calls[service].hold({ $case: 'acquire', value });
    expect(error?.code).toBe(status.INVALID_ARGUMENT);
    expect(holdfastError(error)).toMatchObject({
      reason: 'INVALID_FIELD',
      violations: [{ field: `acquire.${field}`, description: expect.stringContaining(words) as string }],
    });
    expect(harness.permits.calls).toEqual([]);
  });

  test('for an acquire with several bad fields, and names each bad field', async () => {
    const own = { mode: unknownMode(9), permitCount: 0, initialLimit: -7 };
    const error = await failureOf(
      calls[service].acquire({
        ...own,
        name: 'a\0\u{FFFD}',
        holderId: 'x'.repeat(300),
        requestId: 'no',
        metadata: pairs(17, 'v'.repeat(300)),
        ttl: ms(1),
        waitTimeout: ms(-1),
      }),
    );
    expect(holdfastError(error)?.violations.map(({ field }) => field)).toEqual([
      'name',
      'name',
      'holder_id',
      ...(service === 'lock' ? ['mode'] : ['permit_count', 'initial_limit']),
      'request_id',
      'metadata',
      'metadata',
      'ttl',
      'wait_timeout',
    ]);
    expect(error.details).toContain('; ttl is 1 ms');
  });

  test('for a hold without a request_id', async () => {
    const { error } = await calls[service].hold({ $case: 'acquire', value: {} });
    expect(holdfastError(error)?.violations).toEqual([
      { field: 'acquire.request_id', description: 'is required: a UUID of version 4 or 7' },
    ]);
  });

  test('for a hold without a start', async () => {
    const { error } = await calls[service].hold(undefined);
    expect(holdfastError(error)?.violations).toEqual([
      { field: 'start', description: 'is required: acquire or lease_id' },
    ]);
  });

  test('for a renewal with a bad ttl, and names a bad lease_id too', async () => {
    const { renew, leaseId } = calls[service];
    const ttl = ms(5);
    expect(await violationsOf(renew({ leaseId, ttl }))).toEqual(['ttl']);
    expect(await violationsOf(renew({ leaseId: 'nonsense', ttl }))).toEqual(['ttl', 'lease_id']);
    const [other] = SERVICES.filter((candidate) => candidate !== service) as [Service];
    const foreign = leaseOf(other).leaseId;
    expect(await violationsOf(renew({ leaseId: foreign, ttl }))).toEqual(['ttl', 'lease_id']);
    expect(harness.permits.calls).toEqual([]);
  });

  test.each(BAD_FIELDS.filter(([, { metadata }]) => metadata !== undefined))(
    'for a renewal with %s',
    async (_title, { metadata = new Map() }, _field, words) => {
      const { renew, leaseId } = calls[service];
      const error = await failureOf(
        renew({ leaseId, ttl: undefined, metadataUpdate: { entries: metadata } }),
      );
      expect(holdfastError(error)?.violations).toEqual([
        { field: 'metadata_update.entries', description: expect.stringContaining(words) as string },
      ]);
      expect(harness.permits.calls).toEqual([]);
    },
  );

  const ALL = { $case: 'allHolders', value: true } as const;
  const waiter = (value: number) => ({ $case: 'waiterPosition', value }) as const;
  const enqueueTime = { seconds: 1_795_172_436n, nanos: 1_000_000 };
  test.each<[string, Partial<RevokeLockRequest>, string, string]>([
    ['no target', {}, 'target', 'is required: fencing_token, all_holders or waiter_position'],
    [
      'a fencing_token of 0',
      { target: { $case: 'fencingToken', value: 0n } },
      'fencing_token',
      'is 0 and must be',
    ],
    [
      'a negative fencing_token',
      { target: { $case: 'fencingToken', value: -5n } },
      'fencing_token',
      'is -5 and',
    ],
    [
      'all_holders that is false',
      { target: { $case: 'allHolders', value: false } },
      'all_holders',
      'must be true',
    ],
    [
      'a waiter_position of 0',
      { target: waiter(0), enqueueTime },
      'waiter_position',
      'is 0 and must be at least 1',
    ],
    ['a negative waiter_position', { target: waiter(-1), enqueueTime }, 'waiter_position', 'is -1 and'],
    ['a waiter_position alone', { target: waiter(1) }, 'enqueue_time', 'is required with waiter_position'],
    [
      'an invalid enqueue_time',
      { target: waiter(1), enqueueTime: { seconds: 0n, nanos: -1 } },
      'enqueue_time',
      'is not a valid Timestamp',
    ],
    [
      'an enqueue_time of holders',
      { target: ALL, enqueueTime },
      'enqueue_time',
      'is only for waiter_position',
    ],
    ['a reason of 513 bytes', { target: ALL, reason: 'x'.repeat(513) }, 'reason', '513 bytes'],
    ['a reason with a line break', { target: ALL, reason: 'a\nb' }, 'reason', 'control'],
    ['a reason with U+FFFD', { target: ALL, reason: '\u{FFFD}' }, 'reason', 'U+FFFD'],
    ['no name', { target: ALL, name: '' }, 'name', 'is required'],
    ['a name with NUL', { target: ALL, name: 'a\0b' }, 'name', 'control'],
  ])('for a revocation with %s', async (_title, fields, field, words) => {
    const error = await failureOf(calls[service].revoke(fields));
    expect(holdfastError(error)?.violations).toEqual([
      { field, description: expect.stringContaining(words) as string },
    ]);
    expect(harness.permits.calls).toEqual([]);
  });

  test('for a revocation with several bad fields, and names each bad field', async () => {
    const fields = { name: '', target: waiter(0), reason: '\0' };
    expect(await violationsOf(calls[service].revoke(fields))).toEqual([
      'name',
      'waiter_position',
      'enqueue_time',
      'reason',
    ]);
  });

  test.each(BAD_NAMES)('for a get with the name %j', async (name) => {
    expect(await violationsOf(calls[service].get(name))).toEqual(['name']);
    expect(harness.permits.calls).toEqual([]);
  });
});

describe('SemaphoreService answers INVALID_FIELD', () => {
  let client: SemaphoreServiceClient;
  beforeAll(() => {
    client = harness.client(SemaphoreServiceClient);
  });
  const setLimit = (fields: { name?: string; limit?: number; expectedLimit?: number; paused?: boolean }) =>
    call(client, client.setSemaphoreLimit, {
      name: 'hello',
      limit: undefined,
      expectedLimit: undefined,
      ...fields,
    });

  test.each([
    ['without a limit', {}, 'limit', 'is required'],
    ['with a negative limit', { limit: -1 }, 'limit', 'is -1 and must be at least 0'],
    ['with a limit of int32 min', { limit: -(2 ** 31) }, 'limit', 'is -2147483648 and must be at least 0'],
    ['with a limit and a pause', { limit: 0, paused: true }, 'paused', 'must not be set together with limit'],
    [
      'with a limit and the end of a pause',
      { limit: 3, paused: false },
      'paused',
      'must not be set together',
    ],
    [
      'with a negative expected_limit',
      { limit: 1, expectedLimit: -1 },
      'expected_limit',
      'is -1 and must be',
    ],
  ])('for SetSemaphoreLimit %s', async (_title, fields, field, words) => {
    const error = await failureOf(setLimit(fields));
    expect(error.code).toBe(status.INVALID_ARGUMENT);
    expect(holdfastError(error)).toMatchObject({
      reason: 'INVALID_FIELD',
      violations: [{ field, description: expect.stringContaining(words) as string }],
    });
    expect(harness.permits.calls).toEqual([]);
  });

  test('for SetSemaphoreLimit with several bad fields, and names each bad field', async () => {
    const fields = { name: '', limit: -5, expectedLimit: -6 };
    expect(await violationsOf(setLimit(fields))).toEqual(['name', 'limit', 'expected_limit']);
    expect(await violationsOf(setLimit({ name: '' }))).toEqual(['name', 'limit']);
  });

  test.each(BAD_NAMES)('for SetSemaphoreLimit and DeleteSemaphore with the name %j', async (name) => {
    expect(await violationsOf(setLimit({ name, limit: 1 }))).toEqual(['name']);
    expect(await violationsOf(call(client, client.deleteSemaphore, { name, force: true }))).toEqual(['name']);
    expect(harness.permits.calls).toEqual([]);
  });
});

test('LockService passes LOCK_MODE_SHARED to the engine, in a unary call and in a stream', async () => {
  const value = { mode: LockMode.LOCK_MODE_SHARED, requestId: UUID_V4 };
  await calls.lock.acquire(value);
  await calls.lock.hold({ $case: 'acquire', value });
  expect(harness.permits.calls).toMatchObject([
    ['acquire', 'lock', { mode: 'shared', permitCount: 1 }],
    ['hold', 'lock', { request: { mode: 'shared', permitCount: 1 } }],
  ]);
});

describe.each(SERVICES)('the %s service passes to the engine', (service) => {
  async function engineRequest(fields: Fields): Promise<unknown> {
    await calls[service].acquire(fields);
    return harness.permits.calls[0]?.[2];
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
    expect(await engineRequest({ name })).toMatchObject({ name });
  });

  test('metadata of 4096 bytes with a key __proto__ and control characters in values', async () => {
    const metadata = new Map([
      ['__proto__', 'polluted'],
      ['constructor', 'a\nb\0'],
      ['big', 'v'.repeat(4096 - 9 - 8 - 11 - 4 - 3)],
    ]);
    const request = (await engineRequest({ metadata })) as { metadata: Record<string, string> };
    expect(new Map(Object.entries(request.metadata))).toEqual(metadata);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  test('16 pairs of metadata, and a holder_id of 256 bytes', async () => {
    const holderId = 'ä'.repeat(128);
    expect(await engineRequest({ holderId, metadata: pairs(16, '') })).toMatchObject({ holderId });
  });

  test('a request_id in lower case', async () => {
    expect(await engineRequest({ requestId: UUID_V4.toUpperCase() })).toMatchObject({ requestId: UUID_V4 });
    const v7 = '01A1F89D-8653-7389-BF63-8DE08A05C850';
    harness.permits.calls.splice(0);
    expect(await engineRequest({ requestId: v7 })).toMatchObject({ requestId: v7.toLowerCase() });
  });

  test.each([
    [undefined, 30_000],
    [ms(100), 100],
    [ms(120_000), 120_000],
    // The ttl is rounded down, so that no caller holds longer than requested.
    [{ seconds: 1n, nanos: 999_999 }, 1000],
  ])('the ttl %j as %p ms', async (ttl, ttlMs) => {
    expect(await engineRequest({ ttl })).toMatchObject({ ttlMs });
  });

  test.each([
    [undefined, undefined],
    [ms(0), 0],
    // The wait_timeout is rounded up, so that a short wait never becomes 0, which means "try once".
    [{ seconds: 0n, nanos: 1 }, 1],
    [ms(2500), 2500],
    [{ seconds: 315_576_000_000n, nanos: 0 }, 315_576_000_000_000],
  ])('the wait_timeout %j as %p ms', async (waitTimeout, waitTimeoutMs) => {
    expect(await engineRequest({ waitTimeout })).toMatchObject({ waitTimeoutMs });
  });
});
