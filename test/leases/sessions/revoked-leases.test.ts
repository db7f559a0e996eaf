import type { OwnedLease } from '../../../src/leases/lease-requests';
import { ALICE } from '../../support/fake-call';
import { RevokedLeases } from '../../../src/leases/sessions/session';

function lease(lastEnd: number): OwnedLease {
  return {
    id: { resource: { service: 'lock', name: `until ${lastEnd}` }, requestId: ALICE, secret: 'secret' },
    lastEnd,
    abandon: () => undefined,
    revokeHeld: () => undefined,
  };
}

/** Revokes leases with these last ends, numbered from 0. */
function revoked(ends: readonly number[], maxCount = 100): { leases: RevokedLeases; kept: number[] } {
  const leases = new RevokedLeases(maxCount);
  ends.forEach((end, index) => leases.add(index, lease(end), 0));
  return { leases, kept: ends.flatMap((_, index) => (leases.get(index) === undefined ? [] : [index])) };
}

test('a revoked lease is known by its number until its last end', () => {
  const { leases } = revoked([10, 20, 30]);
  expect(leases.get(1)?.id.resource.name).toBe('until 20');
  leases.add(3, lease(40), 20);
  expect([0, 1, 2, 3].map((number) => leases.get(number)?.lastEnd)).toEqual([undefined, undefined, 30, 40]);
});

test('revoked leases are known in any order of their ends, and only the newest leases up to the bound', () => {
  expect(revoked([90, 10, 20, 30]).kept).toEqual([0, 1, 2, 3]);
  expect(revoked([90, 10, 20, 30], 2).kept).toEqual([2, 3]);
});

test('a number is unknown in a session without a revocation', () => {
  expect(revoked([]).leases.get(0)).toBeUndefined();
});
