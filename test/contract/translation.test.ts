import type { HoldEvent } from '../../generated/typescript/holdfast/v1/lease';
import { LockMode, LossCause } from '../../generated/typescript/holdfast/v1/lease';
import { Feature, StoreState } from '../../generated/typescript/holdfast/v1/server_service';
import type { HoldEvent as EngineEvent, Service } from '../../src/engine/leases/lease';
import { someLease } from './fake-engines';
import { call, Harness, UUID_V4 } from './harness';
import { alice, aliceMessage, leaseMessage, ms } from './lease-messages';
import { leaseCalls, SERVICES, type Fields, type LeaseCalls } from './services';

let harness: Harness;
let client: ReturnType<Harness['locks']>;
beforeAll(async () => {
  harness = await Harness.start();
  client = harness.locks();
});
beforeEach(() => harness.permits.calls.splice(0));
afterAll(() => harness.close());

const EVENTS: readonly [EngineEvent, HoldEvent['event']][] = [
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
    { kind: 'granted', lease: someLease },
    { $case: 'granted', value: { lease: leaseMessage } },
  ],
  [
    { kind: 'renewed', expireOffsetMs: 40_000.9 },
    { $case: 'renewed', value: { expireOffset: ms(40_000) } },
  ],
  [
    { kind: 'renewal-failed', expireOffsetMs: 40_000.9, cause: 'store-unavailable' },
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
    expect(harness.permits.calls).toEqual([['renew', service, leaseId, ttlMs]]);
  });

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

  test('sends every event of a hold in order, and ends OK', async () => {
    harness.permits.answers.hold = (_call, _service, _start, sink) => {
      for (const [event] of EVENTS) sink.send(event);
      return Promise.resolve();
    };
    const value = { requestId: UUID_V4 };
    const { messages, error } = await calls.hold({ $case: 'acquire', value });
    expect(messages.map(({ holdEvent }) => holdEvent?.event)).toEqual(EVENTS.map(([, event]) => event));
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
    ],
    storeState: StoreState.STORE_STATE_READY,
    storeWarnings: harness.store.warnings,
  };
  expect(await call(info, info.getServerInfo, {})).toEqual(expected);
  harness.store.setReachable(false);
  expect(await call(info, info.getServerInfo, {})).toEqual({
    ...expected,
    storeState: StoreState.STORE_STATE_UNREACHABLE,
  });
});
