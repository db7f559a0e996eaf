import { LockMode } from '../../generated/typescript/holdfast/v1/lease';
import type { HolderView } from '../../src/leases/lease';
import { someLease } from './fake-engines';

export const ms = (value: number) => ({
  seconds: BigInt(Math.trunc(value / 1000)),
  nanos: (value % 1000) * 1e6,
});

/** The lease of `leaseFor` as a message. The expire_offset is rounded down to whole milliseconds. */
export const leaseMessage = {
  leaseId: someLease.leaseId,
  name: 'hello',
  requestId: someLease.requestId,
  fencingToken: someLease.fencingToken,
  permitCount: 1,
  ttl: ms(30_000),
  expireOffset: ms(29_986),
};

export const alice: HolderView = {
  holderId: 'alice',
  metadata: Object.assign(Object.create(null) as object, JSON.parse('{"__proto__":"x","at":"10.0.0.1"}')),
  fencingToken: 2n ** 53n - 1n,
  permitCount: 1,
  mode: 'exclusive',
  acquireTimeMs: 1_795_172_435_542,
  expireTimeMs: 1_795_172_465_542,
  revoked: false,
  identity: 'spiffe://example.org/alice',
};
export const aliceMessage = {
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
  identity: 'spiffe://example.org/alice',
};
