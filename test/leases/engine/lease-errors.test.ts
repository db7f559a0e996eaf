import type { HoldfastError } from '../../../src/base/errors';
import { StoreFailure } from '../../../src/base/errors';
import {
  contended,
  draining,
  type Repeat,
  semaphoreInUse,
  tooManyWaiting,
  translateStoreFailure,
} from '../../../src/leases/lease-errors';
import type { QueueSnapshot } from '../../../src/leases/lease-store';
import { EMPTY_SNAPSHOT } from '../../support/leases/fake-store';

const LOCK = { service: 'lock', name: 'hello' } as const;
const ID = '01a1f89e-ab95-77dc-a5c3-74f67a69cde4';

function translated(failure: StoreFailure, repeat: Repeat = 'request_id'): HoldfastError {
  return translateStoreFailure(failure, LOCK, repeat, ID) as HoldfastError;
}

describe('translateStoreFailure', () => {
  it('returns OUTCOME_UNKNOWN if a command may have run, even if the last try failed for lack of memory', () => {
    expect(translated(new StoreFailure('unknown', 'full')).reason).toBe('OUTCOME_UNKNOWN');
    expect(translated(new StoreFailure('no', 'full')).reason).toBe('STORE_FULL');
    expect(translated(new StoreFailure('no', 'unavailable')).reason).toBe('STORE_UNAVAILABLE');
  });

  it('returns OVERLOADED for every kind of command that was not sent because too much work waited', () => {
    const repeats: Repeat[] = ['read', 'request_id', 'lease_id', 'same call'];
    for (const repeat of repeats) {
      expect(translated(new StoreFailure('no', 'overloaded'), repeat).reason).toBe('OVERLOADED');
    }
  });

  it('says that only the master of the store has a change that its replicas have not confirmed', () => {
    const { reason, message } = translated(new StoreFailure('unknown', 'unconfirmed'), 'same call');
    expect(reason).toBe('OUTCOME_UNKNOWN');
    expect(message).toMatch(
      /carried out .*"hello".* replicas have not confirmed .* failover .* repeat the call/,
    );
  });

  it('names the request_id of an acquire and the lease_id of a renewal', () => {
    expect(translated(new StoreFailure('unknown', 'unavailable')).message).toContain(ID);
    const renewal = translated(new StoreFailure('unknown', 'unavailable'), 'lease_id');
    expect(renewal.message).toContain('the same lease_id');
    expect(renewal.message).not.toContain(ID);
  });

  it('returns a defect unchanged', () => {
    const defect = new TypeError('a bug');
    expect(translateStoreFailure(defect, LOCK, 'request_id', ID)).toBe(defect);
  });
});

it('the error DRAINING has the request_id, because the server may have made the request_id', () => {
  expect(draining(ID).details.metadata).toEqual({ request_id: ID });
});

it('the error CONTENDED does not advise a longer wait_timeout after a wait of the maximum age', () => {
  const snapshot = { ...EMPTY_SNAPSHOT, earliestEndMs: 1, waiterCount: 1 };
  expect(contended(LOCK, snapshot, 5000, { byAge: true }).message).not.toContain('wait_timeout');
  expect(contended(LOCK, snapshot, 5000).message).toContain('wait_timeout');
});

describe('errors of a semaphore', () => {
  const POOL = { service: 'semaphore', name: 'pool' } as const;
  const holder = (holderId: string, permitCount: number): Partial<QueueSnapshot> => ({
    holder: {
      holderId,
      metadata: {},
      fencingToken: 1n,
      permitCount,
      mode: undefined,
      acquireTimeMs: 0,
      expireTimeMs: 0,
      revoked: false,
      identity: '',
    },
    holderEndMs: 21_000,
  });
  const refused = (snapshot: Partial<QueueSnapshot>) =>
    contended(POOL, { ...EMPTY_SNAPSHOT, limit: 10, ...snapshot }, 0);

  it.each([
    [
      'a single holder',
      { ...holder('alice', 8), usedCount: 8 },
      'has 8 of 10 permits taken by alice for 21 s more',
    ],
    [
      'a single holder without a label',
      { ...holder('', 8), usedCount: 8 },
      'has 8 of 10 permits taken for 21 s more',
    ],
    [
      'several holders',
      { ...holder('alice', 3), usedCount: 8 },
      'has 8 of 10 permits taken, 3 of them by alice for 21 s more',
    ],
    [
      'several holders without labels',
      { ...holder('', 3), usedCount: 8 },
      'has 8 of 10 permits taken, 3 of them for 21 s more',
    ],
    [
      'a holder and a waiter',
      { ...holder('alice', 8), usedCount: 8, waiterCount: 1 },
      'has 8 of 10 permits taken by alice for 21 s more, with 1 waiting',
    ],
    ['waiters and no holder', { waiterCount: 2 }, 'has 0 of 10 permits taken, with 2 waiting'],
    [
      'more permits taken than its limit',
      { ...holder('alice', 3), usedCount: 12 },
      'has 12 permits taken, 3 of them by alice for 21 s more, over its limit of 10',
    ],
    ['a limit of 0', { limit: 0 }, 'is paused by its limit of 0'],
    [
      'a limit of 0 and holders',
      { ...holder('alice', 3), usedCount: 3, limit: 0 },
      'is paused by its limit of 0',
    ],
    ['a limit of 0 and waiters', { limit: 0, waiterCount: 4 }, 'is paused by its limit of 0, with 4 waiting'],
  ])('describe a contended semaphore with %s', (_, snapshot, state) => {
    expect(refused(snapshot).message).toBe(`semaphore "pool" ${state}; raise wait_timeout to queue`);
  });

  it('advise a retry after 5 s if the limit is 0, otherwise at the end of the lease', () => {
    expect(refused({ limit: 0 }).details.retryAfterMs).toBe(5000);
    expect(refused({ ...holder('alice', 8), usedCount: 8, holderEndMs: 700 }).details.retryAfterMs).toBe(700);
  });

  it('name the streaming call of the same service', () => {
    expect(tooManyWaiting(POOL, 500).message).toMatch(/, or HoldPermits$/);
    expect(tooManyWaiting(LOCK, 500).message).toMatch(/, or HoldLock$/);
  });

  it('count holders and waiters of a semaphore in use', () => {
    expect(semaphoreInUse(POOL, { holderCount: 1, waiterCount: 0 }).message).toBe(
      'semaphore "pool" is in use (holders: 1, waiters: 0): nothing was deleted; wait until it is unused, or set force',
    );
  });
});
