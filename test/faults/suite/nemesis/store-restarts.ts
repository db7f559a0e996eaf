import { readdir, stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { between } from '../../../support/random';
import type { RedisProcess } from '../../../support/processes/redis-process';
import type { Fault } from './fault';
import { FORGETTING, SUSPECT } from './forgetting';

const DOWN_MS = [50, 2500] as const;
/** The time span of the lost writes (ms). */
const LOST_MS = [300, 2500] as const;

/** Kills and restarts Redis. Nothing is lost, because the operating system keeps all written data. */
export const storeKilled: Fault = {
  about: 'SIGKILL of Redis, and a restart with all its data',
  pauses: ({ topology, appendfsync }) => topology !== 'one' || appendfsync !== 'always',
  touches: ['store'],
  carryOut: async (stage, random) => {
    const redis = await stage.master(random);
    const before = await stage.store.leases();
    const end = stage.scenario.fault(
      'redis_restarted',
      'SIGKILL',
      stage.absence(stage.parts.isDurable ? {} : SUSPECT),
    );
    await redis.kill();
    await stage.sleep(between(random, ...DOWN_MS));
    await redis.restart();
    await stage.agreed();
    end();
    return { restarts: 1, 'leases kept': before.size - (await stage.store.missing(before)) };
  },
};

/**
 * Kills Redis and truncates its append-only file to an earlier length, so that acknowledged writes are lost. The fault
 * is impossible with `always`, because then the disk has every write before its acknowledgement.
 */
export const storeTruncated: Fault = {
  about: 'SIGKILL of Redis, and a restart with its append-only file truncated',
  topologies: ['one'],
  appendfsyncs: ['everysec', 'no'],
  forgets: true,
  pauses: () => true,
  touches: ['store'],
  weight: 2,
  carryOut: async (stage, random) => {
    const redis = await stage.master(random);
    const file = await appendOnlyFile(redis);
    if (file === undefined) return undefined;
    const { size } = await stat(file);
    await stage.sleep(between(random, ...LOST_MS));
    const before = await stage.store.leases();
    const end = stage.scenario.fault('redis_lost_writes', 'append-only file truncated', FORGETTING);
    await redis.kill();
    const bytes = (await stat(file)).size - size;
    await truncate(file, size);
    await stage.sleep(between(random, ...DOWN_MS));
    await redis.restart();
    end();
    return { 'bytes of writes lost': bytes, 'leases lost': await stage.store.missing(before) };
  },
};

/** The file to which Redis appends. Undefined if the files of Redis are not accessible. */
async function appendOnlyFile(redis: RedisProcess): Promise<string | undefined> {
  if (redis.folder === undefined) return undefined;
  const folder = join(redis.folder, 'appendonlydir');
  const parts = (await readdir(folder)).filter((name) => name.endsWith('.incr.aof')).sort();
  const last = parts.at(-1);
  return last === undefined ? undefined : join(folder, last);
}
