/**
 * Releases a lease, and throws if the lease had expired. A round in which leases expire does not measure the work that its
 * row describes.
 */
export async function releaseHeld(
  client: { release(leaseId: string): Promise<{ readonly released: boolean }> },
  leaseId: string,
): Promise<void> {
  const { released } = await client.release(leaseId);
  if (!released) throw new Error('a lease was lost: the machine is too busy for this benchmark');
}
