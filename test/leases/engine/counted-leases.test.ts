import { Account, NO_QUOTAS } from '../../../src/base/accounts';
import { CallerUse } from '../../../src/base/callers';
import { CountedLeases } from '../../../src/leases/allowance';
import { TimerQueue } from '../../../src/flow/timer-queue';
import { ManualClock } from '../../support/manual-clock';

function started(maxWithoutQuota?: number) {
  const clock = new ManualClock();
  const timers = new TimerQueue(clock);
  const leases = new CountedLeases(clock, timers, maxWithoutQuota);
  const caller = new CallerUse('token:a', '10.0.0.1', 0);
  const account = new Account('token:a', clock, () => NO_QUOTAS);
  return { clock, timers, leases, caller, account };
}

test('a lease without a quota counts for its caller until its end, and no timer stays', async () => {
  const { clock, timers, leases, caller } = started();
  leases.lives({ caller, account: undefined }, 'a', 500);
  leases.lives({ caller, account: undefined }, 'b', 600_000);
  leases.lives({ caller, account: undefined }, 'c', 600_000);
  leases.ended('c');
  expect(caller.leaseCount).toBe(2);
  await clock.advance(2000);
  expect(caller.leaseCount).toBe(1);
  await clock.advance(590_000);
  expect(caller.leaseCount).toBe(1);
  leases.lives({ caller, account: undefined }, 'b', 600_000);
  await clock.advance(590_000);
  expect(caller.leaseCount).toBe(1);
  await clock.advance(12_000);
  expect([caller.leaseCount, timers.size]).toEqual([0, 0]);
});

test('leases without a quota have few different timers, however long they live', () => {
  const { timers, leases, caller, clock } = started();
  const times = new Set<number>();
  const at = timers.at.bind(timers);
  timers.at = (time, work) => {
    times.add(time);
    return at(time, work);
  };
  for (let count = 0; count < 5000; count += 1) {
    leases.lives({ caller, account: undefined }, `lease ${count}`, 100 + count * 17_000);
  }
  expect(times.size).toBeLessThan(70);
  expect(Math.max(...times)).toBeLessThanOrEqual(clock.now() + 61_000);
  leases.close();
  expect(caller.leaseCount).toBe(0);
});

test('above the bound, leases without a quota do not count, and leases with a quota do', () => {
  const { leases, caller, account } = started(2);
  for (const key of ['a', 'b', 'c']) leases.lives({ caller, account: undefined }, key, 1000);
  expect(caller.leaseCount).toBe(2);
  leases.lives({ caller, account }, 'd', 1000);
  expect([caller.leaseCount, account.leaseCount]).toEqual([3, 1]);
  leases.close();
  expect([caller.leaseCount, account.leaseCount]).toEqual([0, 0]);
});

test('a lease that is renewed from another address counts for the caller there', () => {
  const { leases, caller } = started();
  const moved = new CallerUse('token:a', '10.0.0.2', 0);
  leases.lives({ caller, account: undefined }, 'a', 1000);
  leases.lives({ caller: moved, account: undefined }, 'a', 1000);
  expect([caller.leaseCount, moved.leaseCount]).toEqual([0, 1]);
  leases.ended('a');
  expect([caller.leaseCount, moved.leaseCount]).toEqual([0, 0]);
});
