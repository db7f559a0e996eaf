import { setTimeout as sleep } from 'node:timers/promises';
import { HeldLease, LeaseOver } from '../../examples/worker-typescript/held-lease';
import type { Lease } from '../../generated/typescript/holdfast/v1/lease';
import { duration } from '../../clients/typescript';

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

/** As a stopped process: no timer fires, and nothing is read. */
function standStill(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
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

test('of several answers the latest deadline counts', () => {
  const t0 = performance.now();
  const lease = new HeldLease(t0, leaseOf(10_000));
  lease.renewed(t0, duration(30_000));
  lease.renewed(t0, duration(20_000));
  expect(lease.leftMs).toBeGreaterThan(29_000);
  expect(lease.leftMs).toBeLessThanOrEqual(30_000);
});

test('is never believed in for longer than its ttl after the answer', () => {
  const lease = new HeldLease(performance.now(), leaseOf(600_000, 5000));
  expect(lease.leftMs).toBeLessThanOrEqual(5000);
});

test('a deadline that has passed unnoticed stays passed, whatever renewal is read then', () => {
  const t0 = performance.now();
  const lease = new HeldLease(t0, leaseOf(20));
  standStill(40);
  lease.renewed(t0, duration(60_000));
  expect(lease.isOver).toBe(true);
  expect(reasonOf(lease).describe()).toMatch(/^deadline passed \d+ ms ago$/);
});

test('a deadline that has passed comes before the loss that is read then', () => {
  const lease = new HeldLease(performance.now(), leaseOf(20));
  standStill(40);
  lease.end(new LeaseOver('lease lost: EXPIRED'));
  expect(reasonOf(lease).deadlineAt).toBeDefined();
});

test('the first loss stands', () => {
  const lease = new HeldLease(performance.now(), leaseOf(10_000));
  lease.end(new LeaseOver('lease lost: STORE_RESET'));
  lease.end(new LeaseOver('lease given up'));
  lease.renewed(performance.now(), duration(60_000));
  expect(reasonOf(lease).describe()).toBe('lease lost: STORE_RESET');
});

test('a step under way is told at the deadline, without anybody asking (chapter 13)', async () => {
  const t0 = performance.now();
  const lease = new HeldLease(t0, leaseOf(50));
  lease.renewed(t0, duration(100));
  await expect(sleep(10_000, undefined, { signal: lease.over })).rejects.toThrow('aborted');
  expect(performance.now() - t0).toBeGreaterThanOrEqual(100);
  expect(performance.now() - t0).toBeLessThan(2000);
  expect(lease.isOver).toBe(true);
});
