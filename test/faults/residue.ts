import type { Resource } from '../../src/engine/leases/lease';
import { permitsKeys } from '../../src/redis/keys';
import type { FleetStore } from './fleet';
import { PREFIX } from './observer';

/**
 * Lists the data that Redis must not keep for a name at rest: holders, offers, waiters, keys without an expiry, and
 * records that are neither a tombstone nor a detached ticket.
 */
export async function residueOf(redis: Pick<FleetStore, 'command'>, resource: Resource): Promise<string[]> {
  const keys = permitsKeys(PREFIX, resource);
  const [state = '', ends = '', offers = '', queue = '', detached = '', ended = '', , epoch, limit] = keys;
  const left: string[] = [];
  for (const key of [ends, offers, queue]) {
    const members = (await redis.command('ZRANGE', key, 0, -1)) as string[];
    left.push(...members.map((member) => `${key} ${member}`));
  }
  for (const key of keys) {
    // A limit stays until the deletion of its semaphore. The epoch belongs to the whole bucket.
    if (key === limit || key === epoch) continue;
    if (Number(await redis.command('PTTL', key)) === -1) left.push(`${key} never expires`);
  }
  const fields = (await redis.command('HKEYS', state)) as string[];
  const records = fields.filter((field) => /^r[0-9a-f-]{36}$/.test(field)).length;
  const remembered =
    Number(await redis.command('ZCARD', detached)) + Number(await redis.command('ZCARD', ended));
  if (records !== remembered)
    left.push(`${state}: ${records} records, but ${remembered} tombstones and detached tickets`);
  return left;
}
