import { LockMode } from '../../generated/typescript/holdfast/v1/lease';
import { SemaphoreServiceClient } from '../../generated/typescript/holdfast/v1/semaphore_service';
import type { ResourceView } from '../../src/leases/lease';
import { call, Harness } from './harness';
import { alice, aliceMessage } from './lease-messages';

let harness: Harness;
beforeAll(async () => {
  harness = await Harness.start();
});
beforeEach(() => harness.permits.calls.splice(0));
afterAll(() => harness.close());

describe('SemaphoreService', () => {
  let client: SemaphoreServiceClient;
  beforeAll(() => {
    client = harness.client(SemaphoreServiceClient);
  });
  const view: ResourceView = {
    name: 'hello',
    limit: 10,
    keptLimit: undefined,
    usedCount: 12,
    lastFencingToken: alice.fencingToken,
    holderCount: 17,
    waiterCount: 20,
    holders: [{ ...alice, permitCount: 3, mode: undefined }],
    waiters: [
      {
        holderId: 'bob',
        metadata: {},
        permitCount: 5,
        mode: undefined,
        position: 1,
        enqueueTimeMs: 1_795_172_436_001,
        identity: 'token:bob',
      },
    ],
  };
  const message = {
    name: 'hello',
    limit: 10,
    usedCount: 12,
    overcommittedCount: 2,
    waiterCount: 20,
    lastFencingToken: alice.fencingToken,
    holders: [{ ...aliceMessage, permitCount: 3, mode: LockMode.LOCK_MODE_UNSPECIFIED }],
    waiters: [
      {
        holderId: 'bob',
        metadata: new Map(),
        permitCount: 5,
        mode: LockMode.LOCK_MODE_UNSPECIFIED,
        position: 1,
        enqueueTime: { seconds: 1_795_172_436n, nanos: 1_000_000 },
        identity: 'token:bob',
      },
    ],
    holderCount: 17,
    keptLimit: 0,
  };

  test('GetSemaphore answers with the holders and waiters of the semaphore', async () => {
    harness.permits.answers.inspect = () => Promise.resolve(view);
    expect(await call(client, client.getSemaphore, { name: 'hello' })).toEqual({ semaphore: message });
    expect(harness.permits.calls).toEqual([['inspect', 'semaphore', 'hello']]);
  });

  test.each([
    [10, 0, 0],
    [10, 10, 0],
    [10, 11, 1],
    [0, 4, 4],
    [2 ** 31 - 1, 2 ** 31 - 1, 0],
  ])(
    'GetSemaphore with a limit of %d and %d used permits shows %d overcommitted permits',
    async (limit, usedCount, overcommittedCount) => {
      harness.permits.answers.inspect = () => Promise.resolve({ ...view, limit, usedCount });
      const { semaphore } = await call(client, client.getSemaphore, { name: 'hello' });
      expect(semaphore).toMatchObject({ limit, usedCount, overcommittedCount });
    },
  );

  test.each([
    [0, undefined],
    [10, 0],
    [2 ** 31 - 1, 2 ** 31 - 1],
  ])(
    'SetSemaphoreLimit passes the limit %d and expected_limit %p to the engine',
    async (limit, expectedLimit) => {
      harness.permits.answers.setLimit = () => Promise.resolve(view);
      const request = { name: 'hello', limit, expectedLimit };
      expect(await call(client, client.setSemaphoreLimit, request)).toEqual({ semaphore: message });
      expect(harness.permits.calls).toEqual([['setLimit', 'hello', { limit, expectedLimit }]]);
    },
  );

  test.each([
    [true, 'pause', undefined],
    [true, 'pause', 10],
    [false, 'resume', 0],
  ])(
    'SetSemaphoreLimit passes paused %p to the engine as %s, with expected_limit %p',
    async (paused, limit, expectedLimit) => {
      const kept = { ...view, limit: 0, keptLimit: 10 };
      harness.permits.answers.setLimit = () => Promise.resolve(kept);
      const request = { name: 'hello', limit: undefined, expectedLimit, paused };
      const { semaphore } = await call(client, client.setSemaphoreLimit, request);
      expect(semaphore).toEqual({ ...message, limit: 0, overcommittedCount: 12, keptLimit: 10 });
      expect(harness.permits.calls).toEqual([['setLimit', 'hello', { limit, expectedLimit }]]);
    },
  );

  test.each([false, true])('DeleteSemaphore passes force %p to the engine', async (force) => {
    expect(await call(client, client.deleteSemaphore, { name: 'hello', force })).toEqual({});
    expect(harness.permits.calls).toEqual([['remove', 'hello', { force }]]);
  });
});
