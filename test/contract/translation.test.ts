import type { HoldEvent } from '../../generated/typescript/holdfast/v1/lease';
import { LockMode, LossCause } from '../../generated/typescript/holdfast/v1/lease';
import { Feature, StoreState } from '../../generated/typescript/holdfast/v1/server_service';
import type { HolderView, HoldEvent as EngineEvent } from '../../src/engine/lease';
import { someLease } from './fake-engine';
import { acquireRequest, call, drainStream, Harness, UUID_V4 } from './harness';

let harness: Harness;
let client: ReturnType<Harness['locks']>;
beforeAll(async () => {
  harness = await Harness.start();
  client = harness.locks();
});
beforeEach(() => harness.engine.asked.splice(0));
afterAll(() => harness.close());

const ms = (value: number) => ({ seconds: BigInt(Math.trunc(value / 1000)), nanos: (value % 1000) * 1e6 });

/** `someLease` as the contract has it: the offset rounded down, never up. */
const leaseMessage = {
  leaseId: someLease.leaseId,
  name: 'hello',
  requestId: someLease.requestId,
  fencingToken: someLease.fencingToken,
  permitCount: 1,
  ttl: ms(30_000),
  expireOffset: ms(29_986),
};

const alice: HolderView = {
  holderId: 'alice',
  metadata: Object.assign(Object.create(null) as object, JSON.parse('{"__proto__":"x","at":"10.0.0.1"}')),
  fencingToken: 2n ** 53n - 1n,
  permitCount: 1,
  mode: 'exclusive',
  acquireTimeMs: 1_795_172_435_542,
  expireTimeMs: 1_795_172_465_542,
  revoked: false,
};
const aliceMessage = {
  holderId: 'alice',
  metadata: new Map([
    ['__proto__', 'x'],
    ['at', '10.0.0.1'],
  ]),
  fencingToken: 2n ** 53n - 1n,
  permitCount: 1,
  mode: LockMode.LOCK_MODE_EXCLUSIVE,
  acquireTime: { seconds: 1_795_172_435n, nanos: 542_000_000 },
  expireTime: { seconds: 1_795_172_465n, nanos: 542_000_000 },
  revoked: false,
};

test('AcquireLock', async () => {
  const request = acquireRequest({
    ttl: ms(5000),
    waitTimeout: ms(0),
    holderId: 'alice',
    metadata: new Map([['at', '10.0.0.1']]),
    requestId: UUID_V4,
    mode: LockMode.LOCK_MODE_EXCLUSIVE,
  });
  expect(await call(client, client.acquireLock, request)).toEqual({ lease: leaseMessage });
  expect(harness.engine.asked).toEqual([
    {
      verb: 'acquire',
      service: 'lock',
      request: {
        name: 'hello',
        requestId: UUID_V4,
        mode: 'exclusive',
        permitCount: 1,
        holderId: 'alice',
        metadata: { at: '10.0.0.1' },
        ttlMs: 5000,
        waitTimeoutMs: 0,
      },
    },
  ]);
});

test.each([
  [ms(60_000), 60_000],
  [undefined, undefined],
])('RenewLock with a ttl of %j', async (ttl, ttlMs) => {
  const answer = await call(client, client.renewLock, { leaseId: someLease.leaseId, ttl });
  expect(answer).toEqual({ lease: leaseMessage });
  expect(harness.engine.asked).toEqual([
    { verb: 'renew', service: 'lock', leaseId: someLease.leaseId, ttlMs },
  ]);
});

test.each([
  [true, undefined, LossCause.LOSS_CAUSE_UNSPECIFIED],
  [false, undefined, LossCause.LOSS_CAUSE_UNSPECIFIED],
  [false, 'expired', LossCause.LOSS_CAUSE_EXPIRED],
  [false, 'revoked', LossCause.LOSS_CAUSE_REVOKED],
  [false, 'store-reset', LossCause.LOSS_CAUSE_STORE_RESET],
  [false, 'store-unavailable', LossCause.LOSS_CAUSE_STORE_UNAVAILABLE],
] as const)('ReleaseLock, released %s, cause %s', async (released, lossCause, cause) => {
  harness.engine.onRelease = () => Promise.resolve({ released, lossCause });
  const answer = await call(client, client.releaseLock, { leaseId: someLease.leaseId });
  expect(answer).toEqual({ released, lossCause: cause });
});

test('GetLock', async () => {
  harness.engine.onInspect = (name) =>
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

describe('HoldLock', () => {
  const events: readonly [EngineEvent, HoldEvent['event']][] = [
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

  test('tells every event, in order, and ends OK', async () => {
    harness.engine.onHold = (_call, _start, sink) => {
      for (const [event] of events) sink.send(event);
      return Promise.resolve();
    };
    const value = acquireRequest({ requestId: UUID_V4 });
    const { messages, error } = await drainStream(client.holdLock({ start: { $case: 'acquire', value } }));
    expect(messages.map(({ holdEvent }) => holdEvent?.event)).toEqual(events.map(([, event]) => event));
    expect(error).toBeUndefined();
    expect(harness.engine.asked).toMatchObject([
      { verb: 'hold', service: 'lock', start: { kind: 'acquire', request: { requestId: UUID_V4 } } },
    ]);
  });

  test('attaches by lease_id', async () => {
    harness.engine.onHold = () => Promise.resolve();
    const start = { $case: 'leaseId', value: someLease.leaseId } as const;
    await drainStream(client.holdLock({ start }));
    expect(harness.engine.asked).toEqual([
      { verb: 'hold', service: 'lock', start: { kind: 'attach', leaseId: someLease.leaseId } },
    ]);
  });
});

test('GetServerInfo', async () => {
  const info = harness.info();
  harness.store.warnings = ['appendonly is off: a restart of the store forgets leases'];
  const expected = {
    version: '1.2.3',
    minTtl: ms(100),
    maxTtl: ms(120_000),
    defaultTtl: ms(30_000),
    maxStreamAge: ms(3_600_000),
    maxWaiterCount: 10_000,
    features: [Feature.FEATURE_EXCLUSIVE_LOCKS, Feature.FEATURE_SHARED_LOCKS, Feature.FEATURE_SEMAPHORES],
    storeState: StoreState.STORE_STATE_READY,
    storeWarnings: harness.store.warnings,
  };
  expect(await call(info, info.getServerInfo, {})).toEqual(expected);
  harness.store.become(false);
  expect(await call(info, info.getServerInfo, {})).toEqual({
    ...expected,
    storeState: StoreState.STORE_STATE_UNREACHABLE,
  });
});
