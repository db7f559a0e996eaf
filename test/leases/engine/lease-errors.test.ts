import fc from 'fast-check';
import { type HoldfastError, StoreFailure } from '../../../src/base/errors';
import { confirmedEnd, expireOffsetMs, hasOffsetPassed } from '../../../src/leases/lease';
import {
  contended,
  draining,
  type Repeat,
  semaphoreInUse,
  tooManyWaiting,
  translateStoreFailure,
} from '../../../src/leases/lease-errors';
import type { QueueSnapshot } from '../../../src/leases/lease-store';
import { Heartbeats, Lives } from '../../../src/leases/life';
import { FakeCall } from '../../support/fake-call';
import { EMPTY_SNAPSHOT } from '../../support/leases/fake-store';
import { ManualClock, runtimeOn } from '../../support/manual-clock';
import { assertWithinTime } from '../../support/timed-property';

describe('errors of leases', () => {
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
      [
        'a limit of 0 and waiters',
        { limit: 0, waiterCount: 4 },
        'is paused by its limit of 0, with 4 waiting',
      ],
    ])('describe a contended semaphore with %s', (_, snapshot, state) => {
      expect(refused(snapshot).message).toBe(`semaphore "pool" ${state}; raise wait_timeout to queue`);
    });

    it('advise a retry after 5 s if the limit is 0, otherwise at the end of the lease', () => {
      expect(refused({ limit: 0 }).details.retryAfterMs).toBe(5000);
      expect(refused({ ...holder('alice', 8), usedCount: 8, holderEndMs: 700 }).details.retryAfterMs).toBe(
        700,
      );
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
});

describe('the offset of a lease', () => {
  const RHO = 0.0005;
  const DAY_MS = 86_400_000;
  const between = (min: number, max: number) => fc.double({ min, max, noNaN: true });
  const ms = (max: number) => between(0, max);

  describe('expireOffsetMs and confirmedEnd', () => {
    it('add the time until the send and the remaining time, less the possible drift of the clocks', () => {
      expect(expireOffsetMs(1000, { sentAt: 1000, remainingMs: 30_000 })).toBeCloseTo(29_985, 6);
      expect(expireOffsetMs(1000, { sentAt: 3000, remainingMs: 10_000 })).toBeCloseTo(11_994, 6);
      // The offset counts from the call. After a wait of an hour the offset is longer than the ttl.
      expect(expireOffsetMs(0, { sentAt: 3_600_000, remainingMs: 30_000 })).toBeCloseTo(3_628_185, 6);
    });

    it('subtract the time since the send and the possible drift if the command is older than the message', () => {
      expect(expireOffsetMs(3000, { sentAt: 1000, remainingMs: 10_000 })).toBeCloseTo(9995 - 2001, 6);
      // The lease has ended before the message.
      expect(expireOffsetMs(20_000, { sentAt: 0, remainingMs: 10_000 })).toBeCloseTo(9995 - 20_010, 6);
    });

    it('never give an end after the end of the lease, for all clocks within the bound of the drift', () => {
      const rate = between(-RHO / 2, RHO / 2);
      // The time from the receipt of the message to the send of the command, and the remaining time at the command.
      const afterMessage = fc.tuple(ms(3_600_000), ms(120_000));
      const beforeMessage = fc
        .tuple(ms(DAY_MS), ms(120_000))
        .map(([age, left]) => [-age, age + left] as const);
      assertWithinTime(
        fc.property(
          fc.oneof(afterMessage, beforeMessage),
          ms(5000),
          ms(5000),
          rate,
          rate,
          rate,
          ([waited, remaining], toServer, toStore, clientRate, serverRate, storeRate) => {
            // In true time the client sends at 0, the server receives at `received` and sends at `sent`, and the store reads
            // its clock at `read`.
            const received = toServer;
            const sent = received + waited;
            const read = sent + toStore;
            const trueEnd = read + remaining / (1 + storeRate);
            const onServer = (time: number) => 2 * DAY_MS + time * (1 + serverRate);
            const offset = expireOffsetMs(onServer(received), {
              sentAt: onServer(sent),
              remainingMs: remaining,
            });
            // The client does not believe in a lease with such an offset at any time.
            if (offset <= 0) return;
            // The client counts the offset on its own clock, from the moment before the message was sent.
            const believedEnd = offset / (1 + clientRate);
            expect(believedEnd).toBeLessThanOrEqual(trueEnd + 1e-6);
          },
        ),
      );
    });

    it('give a later end to a command that was sent later with the same remaining time', () => {
      assertWithinTime(
        fc.property(ms(1e6), between(-1e5, 1e5), ms(1e5), ms(1e5), (received, waited, gap, remaining) => {
          const sentAt = received + waited;
          const first = expireOffsetMs(received, { sentAt, remainingMs: remaining });
          const second = expireOffsetMs(received, { sentAt: sentAt + gap, remainingMs: remaining });
          expect(second).toBeGreaterThanOrEqual(first - 1e-6);
        }),
      );
    });

    it("give the end on the server's clock, and the end for the client is never later", () => {
      expect(confirmedEnd({ sentAt: 5000, remainingMs: 30_000 })).toBeCloseTo(34_985, 6);
      assertWithinTime(
        fc.property(ms(1e6), between(-1e6, 1e6), ms(1e5), (received, waited, remainingMs) => {
          const end = { sentAt: received + waited, remainingMs };
          expect(received + expireOffsetMs(received, end)).toBeLessThanOrEqual(confirmedEnd(end) + 1e-6);
        }),
      );
    });
  });

  test('a grant to a session after a long wait is judged from the latest heartbeat, so drift does not add up', () => {
    const hour = 3_600_000;
    const end = { sentAt: hour, remainingMs: 1000 };
    const clock = new ManualClock(0);
    const lives = new Lives(runtimeOn(clock), 's1', Infinity);
    const call = new FakeCall(clock);
    const heartbeats = new Heartbeats(1, hour - 5000, 15_000);
    const command = Object.assign(call, { speaker: 'client/1.1', heartbeats, onGivenUp: () => undefined });
    expect(hasOffsetPassed(lives.callLife(call).offsetsFrom, end, hour + 10)).toBe(true);
    const { offsetsFrom } = lives.sessionLife(command);
    expect(hasOffsetPassed(offsetsFrom, end, hour + 10)).toBe(false);
    expect(hasOffsetPassed(offsetsFrom, end, hour + 1000)).toBe(true);
  });
});
