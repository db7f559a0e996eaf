import { eventually } from '../../../support/eventually';
import { oneOf } from '../../../support/random';
import { keyOf, PARTS, readEnds } from '../../../support/leases/lease-stored';
import { PREFIX } from '../../observer';
import type { Fault } from './fault';
import { FORGETTING } from './forgetting';

/** A master refuses writes while fewer replicas follow than `min-replicas-to-write` asks for. */
const ENOUGH_REPLICAS = { timeoutMs: 60_000 };

/** Removes all data of a running Redis. */
export const storeFlushed: Fault = {
  about: 'FLUSHALL',
  forgets: true,
  pauses: () => true,
  touches: ['store'],
  weight: 2,
  carryOut: async (stage, random) => {
    const redis = await stage.master(random);
    const before = await stage.store.leases();
    // A single master of several has only some of the names, so it is not certain that a lease was lost.
    const isAll = (await stage.fleet.redis.masters()).length === 1;
    const end = stage.scenario.fault(isAll ? 'redis_flushed' : 'redis_lost_writes', 'FLUSHALL', FORGETTING);
    await eventually('FLUSHALL', () => redis.command('FLUSHALL'), ENOUGH_REPLICAS);
    end();
    return { 'leases lost': await stage.store.missing(before) };
  },
};

/**
 * Deletes the keys of one resource. The store cannot detect this loss, so most invariants do not apply to this name.
 * The tokens of the name must still rise, and other names must not be affected.
 */
export const resourceDeleted: Fault = {
  about: "DEL of one resource's keys",
  forgets: true,
  touches: ['store'],
  carryOut: async (stage, random) => {
    const { service, name } = oneOf(random, stage.parts.resources);
    // The limit stays, because a semaphore without a limit does not exist.
    const keys = PARTS.map((part) => keyOf(PREFIX, { service, name }, part));
    const held = (await readEnds(stage.fleet.redis, PREFIX, { service, name }))?.ends.size ?? 0;
    const end = stage.scenario.fault('redis_deleted', `DEL of ${name}`, { names: [name] });
    const remove = () => stage.fleet.redis.command('DEL', ...keys);
    const deleted = await eventually('DEL', remove, ENOUGH_REPLICAS);
    end();
    return { 'keys deleted': Number(deleted), 'leases lost': held };
  },
};
