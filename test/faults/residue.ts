import type { Resource } from '../../src/leases/lease';
import { keyOf, PARTS, readStored } from '../support/leases/lease-stored';
import type { FleetStore } from './fleet';
import { PREFIX } from './observer';

/**
 * Lists the data that Redis must not keep for a name at rest: holders, offers, waiters, keys without an expiry, and
 * records that are neither a tombstone nor a detached ticket.
 */
export async function residueOf(redis: Pick<FleetStore, 'command'>, resource: Resource): Promise<string[]> {
  const { records, sets } = await readStored(redis, PREFIX, resource);
  const left: string[] = [];
  for (const set of ['ends', 'offers', 'queue'] as const)
    left.push(...sets[set].map(({ id }) => `${set} ${id}`));
  for (const part of PARTS) {
    const key = keyOf(PREFIX, resource, part);
    if (Number(await redis.command('PTTL', key)) === -1) left.push(`${key} never expires`);
  }
  const found = Object.keys(records).length;
  const remembered = sets.detached.length + sets.ended.length;
  if (found !== remembered)
    left.push(`${resource.name}: ${found} records, but ${remembered} tombstones and detached tickets`);
  return left;
}
