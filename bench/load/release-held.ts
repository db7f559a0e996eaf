/**
 * Releases a lease and throws if the lease had expired: a round in which leases expire does not measure what it says. The
 * client is the one of the tests; a load process needs nothing else, because no row counts the cost of its own load.
 */
export async function releaseHeld(
  client: { release(leaseId: string): Promise<{ readonly released: boolean }> },
  leaseId: string,
): Promise<void> {
  const { released } = await client.release(leaseId);
  if (!released) throw new Error('a lease was lost: the machine is too busy for this benchmark');
}
