import { setTimeout as sleep } from 'node:timers/promises';
import { HeldLease, LeaseOver } from '../../examples/worker-typescript/held-lease';
import type { Lease } from '../../generated/typescript/holdfast/v1/lease';
import { duration } from '../../clients/typescript';

// The fake timers replace `performance.now` and `setTimeout`, so that the tests control the clock.
beforeEach(() => jest.useFakeTimers());
afterEach(() => {
  jest.restoreAllMocks();
  jest.useRealTimers();
});

function leaseOf(expireOffsetMs: number, ttlMs = 60_000): Lease {
  return {
    leaseId: 'lease',
    name: 'report',
    requestId: '',
    fencingToken: 7n,
    permitCount: 1,
    ttl: duration(ttlMs),
    expireOffset: duration(expireOffsetMs),
  };
}

/** Moves the clock without firing a timer, as the clock of a suspended process moves. */
function standStill(ms: number): void {
  const now = performance.now() + ms;
  jest.spyOn(performance, 'now').mockReturnValue(now);
}

function reasonOf(lease: HeldLease): LeaseOver {
  try {
    lease.check();
  } catch (error) {
    if (error instanceof LeaseOver) return error;
    throw error;
  }
  throw new Error('the lease is not over');
}

test('HeldLease of the worker keeps the latest deadline of several renewals', () => {
  const t0 = performance.now();
  const lease = new HeldLease(t0, leaseOf(10_000));
  lease.renewed(t0, duration(30_000));
  lease.renewed(t0, duration(20_000));
  expect(lease.leftMs).toBe(30_000);
});

test('HeldLease of the worker sets its deadline at most a ttl after the answer', () => {
  const lease = new HeldLease(performance.now(), leaseOf(600_000, 5000));
  expect(lease.leftMs).toBeLessThanOrEqual(5000);
});

test('HeldLease of the worker stays over when a renewal is read after its deadline', () => {
  const t0 = performance.now();
  const lease = new HeldLease(t0, leaseOf(20));
  standStill(40);
  lease.renewed(t0, duration(60_000));
  expect(lease.isOver).toBe(true);
  expect(reasonOf(lease).describe()).toMatch(/^deadline passed \d+ ms ago$/);
});

test('HeldLease of the worker reports a passed deadline, and not a loss that is read later', () => {
  const lease = new HeldLease(performance.now(), leaseOf(20));
  standStill(40);
  lease.end(new LeaseOver('lease lost: EXPIRED'));
  expect(reasonOf(lease).deadlineAt).toBeDefined();
});

test('HeldLease of the worker keeps the first reason of its end', () => {
  const lease = new HeldLease(performance.now(), leaseOf(10_000));
  lease.end(new LeaseOver('lease lost: STORE_RESET'));
  lease.end(new LeaseOver('lease given up'));
  lease.renewed(performance.now(), duration(60_000));
  expect(reasonOf(lease).describe()).toBe('lease lost: STORE_RESET');
});

test('HeldLease of the worker aborts a running step exactly at its deadline (chapter 13)', async () => {
  const t0 = performance.now();
  const lease = new HeldLease(t0, leaseOf(50));
  lease.renewed(t0, duration(100));
  const step = expect(sleep(10_000, undefined, { signal: lease.over })).rejects.toThrow('aborted');
  jest.advanceTimersByTime(99);
  expect(lease.over.aborted).toBe(false);
  jest.advanceTimersByTime(1);
  expect(lease.over.aborted).toBe(true);
  await step;
  expect(lease.isOver).toBe(true);
});
