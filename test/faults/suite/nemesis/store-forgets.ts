import { oneOf } from '../../../support/random';
import { permitsKeys } from '../../../../src/redis/keys';
import { PREFIX } from '../../observer';
import type { Fault } from './fault';
import { FORGETTING } from './forgetting';

/** FLUSHALL: Redis lives on, and knows nothing. */
export const storeFlushed: Fault = {
  about: 'FLUSHALL',
  forgets: true,
  pauses: () => true,
  touches: ['store'],
  weight: 2,
  carryOut: async (stage, random) => {
    const redis = await stage.master(random);
    const before = await stage.store.leases();
    // One of several has only some of the names, so that nobody's lease is certainly gone.
    const isAll = (await stage.fleet.redis.masters()).length === 1;
    const end = stage.scenario.fault(isAll ? 'redis_flushed' : 'redis_lost_writes', 'FLUSHALL', FORGETTING);
    await redis.command('FLUSHALL');
    end();
    return { 'leases lost': await stage.store.missing(before) };
  },
};

/**
 * DEL of one resource's keys. No protocol of the store's can know of it, so the name is left out of what must not
 * happen; tokens must rise all the same, and nobody else may notice.
 */
export const resourceDeleted: Fault = {
  about: "DEL of one resource's keys",
  forgets: true,
  touches: ['store'],
  carryOut: async (stage, random) => {
    const { service, name } = oneOf(random, stage.parts.wanted);
    // A limit that was set is kept: without it nobody knows what the semaphore is.
    const keys = permitsKeys(PREFIX, { service, name }).slice(0, 7);
    const held = (await stage.fleet.redis.command('ZCARD', keys[1] ?? '')) as string;
    const end = stage.scenario.fault('redis_deleted', `DEL of ${name}`, { names: [name] });
    const deleted = (await stage.fleet.redis.command('DEL', ...keys)) as string;
    end();
    return { 'keys deleted': Number(deleted), 'leases lost': Number(held) };
  },
};
