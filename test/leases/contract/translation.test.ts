import { type HoldEvent, LockMode, LossCause } from '../../../generated/typescript/holdfast/v1/lease';
import { SemaphoreServiceClient } from '../../../generated/typescript/holdfast/v1/semaphore_service';
import {
  Feature,
  StoreExecution,
  StoreState,
} from '../../../generated/typescript/holdfast/v1/server_service';
import type { Call } from '../../../src/base/call';
import { HoldfastError } from '../../../src/base/errors';
import type { HoldEvent as EngineEvent, ResourceView, Service } from '../../../src/leases/lease';
import { endAfter, leaseFor } from '../../contract/fake-engines';
import { call, failureOf, Harness, UUID_V4 } from '../../contract/harness';
import { alice, aliceMessage, leaseMessage, ms } from '../../contract/lease-messages';
import { type Fields, leaseCalls, type LeaseCalls, SERVICES } from '../../contract/services';

describe('translation of locks', () => {
  let harness: Harness;
  let client: ReturnType<Harness['locks']>;
  beforeAll(async () => {
    harness = await Harness.start();
    client = harness.locks();
  });
  beforeEach(() => harness.permits.reset());
  afterAll(() => harness.close());

  /** Every kind of event of a hold, and the message of the event in the stream of `call`. */
  const eventsFor = (call: Call): readonly [EngineEvent, HoldEvent['event']][] => [
    [
      { kind: 'queued', requestId: UUID_V4, position: 3, waiterCount: 7, holder: alice },
      {
        $case: 'queued',
        value: { requestId: UUID_V4, position: 3, waiterCount: 7, holder: aliceMessage },
      },
    ],
    [
      { kind: 'queued', requestId: UUID_V4, position: 1, waiterCount: 1, holder: undefined },
      { $case: 'queued', value: { requestId: UUID_V4, position: 1, waiterCount: 1, holder: undefined } },
    ],
    [
      { kind: 'granted', lease: leaseFor(call) },
      { $case: 'granted', value: { lease: leaseMessage } },
    ],
    [
      { kind: 'renewed', end: endAfter(call, 40_000.9) },
      { $case: 'renewed', value: { expireOffset: ms(40_000) } },
    ],
    [
      { kind: 'renewal-failed', end: endAfter(call, 40_000.9), cause: 'store-unavailable' },
      {
        $case: 'renewalFailed',
        value: { expireOffset: ms(40_000), cause: LossCause.LOSS_CAUSE_STORE_UNAVAILABLE },
      },
    ],
    [{ kind: 'released' }, { $case: 'released', value: {} }],
    [
      { kind: 'lost', cause: 'expired' },
      { $case: 'lost', value: { cause: LossCause.LOSS_CAUSE_EXPIRED } },
    ],
  ];

  /** The acquire fields that only one service has, and the engine's request for these fields. */
  const AMOUNTS: Readonly<Record<Service, readonly (readonly [Fields, object])[]>> = {
    lock: [
      [{}, { mode: 'exclusive', permitCount: 1 }],
      [{ mode: LockMode.LOCK_MODE_EXCLUSIVE }, { mode: 'exclusive', permitCount: 1 }],
      [{ mode: LockMode.LOCK_MODE_SHARED }, { mode: 'shared', permitCount: 1 }],
    ],
    semaphore: [
      [{}, { mode: 'exclusive', permitCount: 1 }],
      [
        { permitCount: 1, initialLimit: 0 },
        { mode: 'exclusive', permitCount: 1, initialLimit: 0 },
      ],
      [
        { permitCount: 2 ** 31 - 1, initialLimit: 2 ** 31 - 1 },
        { mode: 'exclusive', permitCount: 2 ** 31 - 1, initialLimit: 2 ** 31 - 1 },
      ],
    ],
  };

  describe.each(SERVICES)('the %s service', (service) => {
    let calls: LeaseCalls;
    beforeAll(() => {
      calls = leaseCalls(harness, service);
    });

    test.each(AMOUNTS[service])('passes an acquire with the fields %p to the engine', async (own, amount) => {
      const fields = {
        ...own,
        ttl: ms(5000),
        waitTimeout: ms(0),
        holderId: 'alice',
        metadata: new Map([['at', '10.0.0.1']]),
        requestId: UUID_V4,
      };
      const request = {
        name: 'hello',
        requestId: UUID_V4,
        holderId: 'alice',
        metadata: { at: '10.0.0.1' },
        ttlMs: 5000,
        waitTimeoutMs: 0,
        ...amount,
      };
      expect(await calls.acquire(fields)).toEqual({ lease: leaseMessage });
      await calls.hold({ $case: 'acquire', value: fields });
      expect(harness.permits.calls).toEqual([
        ['acquire', service, request],
        ['hold', service, { kind: 'acquire', request }],
      ]);
    });

    test.each([
      [ms(60_000), 60_000],
      [undefined, undefined],
    ])('passes a renewal with the ttl %j to the engine', async (ttl, ttlMs) => {
      const { leaseId } = calls;
      expect(await calls.renew({ leaseId, ttl })).toEqual({ lease: leaseMessage });
      expect(harness.permits.calls).toEqual([['renew', service, leaseId, { ttlMs, metadata: undefined }]]);
    });

    test.each([[{ address: '10.0.0.1' }], [{}]])(
      'passes a renewal with the metadata %j to the engine',
      async (metadata) => {
        const { leaseId } = calls;
        const metadataUpdate = { entries: new Map(Object.entries(metadata)) };
        expect(await calls.renew({ leaseId, ttl: undefined, metadataUpdate })).toEqual({
          lease: leaseMessage,
        });
        expect(harness.permits.calls).toEqual([['renew', service, leaseId, { ttlMs: undefined, metadata }]]);
      },
    );

    test.each([
      [true, undefined, LossCause.LOSS_CAUSE_UNSPECIFIED],
      [false, undefined, LossCause.LOSS_CAUSE_UNSPECIFIED],
      [false, 'expired', LossCause.LOSS_CAUSE_EXPIRED],
      [false, 'revoked', LossCause.LOSS_CAUSE_REVOKED],
      [false, 'store-reset', LossCause.LOSS_CAUSE_STORE_RESET],
      [false, 'store-unavailable', LossCause.LOSS_CAUSE_STORE_UNAVAILABLE],
    ] as const)(
      "sends the engine's answer to a release: released is %s, the cause is %s",
      async (released, lossCause, cause) => {
        harness.permits.answers.release = () => Promise.resolve({ released, lossCause });
        const { leaseId } = calls;
        expect(await calls.release(leaseId)).toEqual({ released, lossCause: cause });
        expect(harness.permits.calls).toEqual([['release', service, leaseId]]);
      },
    );

    const WAITER = { $case: 'waiterPosition', value: 3 } as const;
    const enqueueTime = { seconds: 1_795_172_436n, nanos: 1_023_999 };
    test.each([
      [
        { target: { $case: 'fencingToken', value: 2n ** 53n - 1n } as const, force: true },
        { target: { kind: 'token', fencingToken: 2n ** 53n - 1n }, force: true },
      ],
      [
        { target: { $case: 'allHolders', value: true } as const },
        { target: { kind: 'all-holders' }, force: false },
      ],
      [
        { target: WAITER, enqueueTime },
        { target: { kind: 'waiter', position: 3, enqueueTimeUs: 1_795_172_436_001_023n }, force: false },
      ],
    ])('passes the revocation %p to the engine, and answers with its result', async (fields, request) => {
      expect(await calls.revoke({ ...fields, reason: 'deploy stuck' })).toEqual({
        revokedCount: 1,
        freeTime: { seconds: 1_795_172_465n, nanos: 542_123_000 },
      });
      expect(harness.permits.calls).toEqual([['revoke', service, { name: 'hello', ...request }]]);
    });

    test('answers a revocation without free_time if no lease keeps its permits', async () => {
      harness.permits.answers.revoke = () => Promise.resolve({ revokedCount: 0, freeTimeMs: undefined });
      const answer = await calls.revoke({ target: { $case: 'allHolders', value: true } });
      expect(answer).toEqual({ revokedCount: 0, freeTime: undefined });
    });

    test('writes one line to the log for each revocation, also for a failed revocation', async () => {
      harness.audited.splice(0);
      const reason = 'deploy stuck';
      await calls.revoke({ target: { $case: 'fencingToken', value: 7n }, force: true, reason });
      await calls.revoke({ target: WAITER, enqueueTime });
      harness.permits.answers.revoke = () => Promise.reject(new HoldfastError('OUTCOME_UNKNOWN', 'no reply'));
      await failureOf(calls.revoke({ target: { $case: 'allHolders', value: true }, reason }));
      const lines = harness.audited.filter(({ message }) => message === 'an act of a caller');
      const common = { identity: '', action: 'revoke', name: 'hello' };
      expect(lines.map(({ fields }) => fields)).toMatchObject([
        { ...common, target: 'fencingToken 7', force: true, requestReason: reason, outcome: 'OK' },
        { ...common, target: 'waiterPosition 3', force: false, requestReason: '', outcome: 'OK' },
        {
          ...common,
          target: 'allHolders true',
          force: false,
          requestReason: reason,
          outcome: 'OUTCOME_UNKNOWN',
        },
      ]);
    });

    test('sends every event of a hold in order, and ends OK', async () => {
      let expected: HoldEvent['event'][] = [];
      harness.permits.answers.hold = (holdCall, _service, _start, sink) => {
        const events = eventsFor(holdCall);
        for (const [event] of events) sink.send(event);
        expected = events.map(([, message]) => message);
        return Promise.resolve();
      };
      const value = { requestId: UUID_V4 };
      const { messages, error } = await calls.hold({ $case: 'acquire', value });
      expect(messages.map(({ holdEvent }) => holdEvent?.event)).toEqual(expected);
      expect(messages).not.toHaveLength(0);
      expect(error).toBeUndefined();
    });

    test('passes an attach by lease_id to the engine', async () => {
      harness.permits.answers.hold = () => Promise.resolve();
      const { leaseId } = calls;
      await calls.hold({ $case: 'leaseId', value: leaseId });
      expect(harness.permits.calls).toEqual([['hold', service, { kind: 'attach', leaseId }]]);
    });
  });

  test('GetLock answers with the holders and waiters of the lock', async () => {
    harness.permits.answers.inspect = (_call, _service, name) =>
      Promise.resolve({
        name,
        limit: 1,
        keptLimit: undefined,
        usedCount: 1,
        lastFencingToken: alice.fencingToken,
        holderCount: 1,
        waiterCount: 20,
        holders: [alice],
        waiters: [
          {
            holderId: 'bob',
            metadata: {},
            permitCount: 1,
            mode: 'shared',
            position: 1,
            enqueueTimeMs: 1_795_172_436_001,
            identity: 'token:bob',
          },
        ],
      });
    const { lock } = await call(client, client.getLock, { name: 'hello' });
    expect(lock).toEqual({
      name: 'hello',
      lastFencingToken: alice.fencingToken,
      holderCount: 1,
      waiterCount: 20,
      holders: [aliceMessage],
      waiters: [
        {
          holderId: 'bob',
          metadata: new Map(),
          permitCount: 1,
          mode: LockMode.LOCK_MODE_SHARED,
          position: 1,
          enqueueTime: { seconds: 1_795_172_436n, nanos: 1_000_000 },
          identity: 'token:bob',
        },
      ],
    });
  });

  test('GetServerInfo answers with version, bounds, features and store state', async () => {
    const info = harness.info();
    harness.store.warnings = ['appendonly is off: a restart of the store forgets leases'];
    const expected = {
      version: '1.2.3',
      minTtl: ms(100),
      maxTtl: ms(120_000),
      defaultTtl: ms(30_000),
      maxStreamAge: ms(3_600_000),
      maxWaiterCount: 10_000,
      features: [
        Feature.FEATURE_EXCLUSIVE_LOCKS,
        Feature.FEATURE_SHARED_LOCKS,
        Feature.FEATURE_SEMAPHORES,
        Feature.FEATURE_AUTOCOMPLETE,
        Feature.FEATURE_LISTS,
        Feature.FEATURE_WATCHES,
        Feature.FEATURE_REVOCATION,
        Feature.FEATURE_METADATA_UPDATE,
        Feature.FEATURE_SESSIONS,
        Feature.FEATURE_CALLERS,
        Feature.FEATURE_SEMAPHORE_PAUSE,
      ],
      storeState: StoreState.STORE_STATE_READY,
      storeExecution: StoreExecution.STORE_EXECUTION_FUNCTIONS,
      storeWarnings: harness.store.warnings,
    };
    expect(await call(info, info.getServerInfo, {})).toEqual(expected);
    harness.store.hasLibrary = false;
    expect(await call(info, info.getServerInfo, {})).toMatchObject({
      storeExecution: StoreExecution.STORE_EXECUTION_SCRIPTS,
    });
    harness.store.hasLibrary = true;
    harness.store.setReachable(false);
    expect(await call(info, info.getServerInfo, {})).toEqual({
      ...expected,
      storeState: StoreState.STORE_STATE_UNREACHABLE,
    });
  });
});

let harness: Harness;

describe('SemaphoreService', () => {
  beforeAll(async () => {
    harness = await Harness.start();
  });
  beforeEach(() => harness.permits.calls.splice(0));
  afterAll(() => harness.close());

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
