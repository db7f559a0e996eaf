import { between, oneOf } from '../../../support/random';
import type { Fault } from './fault';

/** A part of a ttl, or longer than every lease and than the silence after which a server counts as dead. */
const FROZEN_MS: readonly (readonly [number, number])[] = [
  [300, 3000],
  [4000, 6500],
];
const PAUSED_MS = [300, 4000] as const;

/** In a store with replicas, a replica may take over from a silent master. */
const replicaTakesOver: Fault['pauses'] = ({ topology }) => topology !== 'one';

/** Stops Redis. Commands that are sent meanwhile run at the end, even if their callers have given up. */
export const storeStopped: Fault = {
  about: 'SIGSTOP of Redis',
  pauses: replicaTakesOver,
  touches: ['store'],
  weight: 2,
  carryOut: async (stage, random) => {
    const redis = await stage.master(random);
    const runs = await stage.store.scriptRuns(redis);
    const end = stage.scenario.fault('redis_stopped', 'SIGSTOP', stage.absence({}));
    await redis.stop();
    await stage.sleep(between(random, ...oneOf(random, FROZEN_MS)));
    await redis.cont();
    const late = (await stage.store.scriptRuns(redis)) - runs;
    await stage.agreed();
    end();
    return { 'scripts run late': late };
  },
};

/** Delays all commands by a command of Redis. */
export const storePaused: Fault = {
  about: 'CLIENT PAUSE',
  pauses: replicaTakesOver,
  touches: ['store'],
  carryOut: async (stage, random) => {
    const redis = await stage.master(random);
    const ms = between(random, ...PAUSED_MS);
    const runs = await stage.store.scriptRuns(redis);
    const end = stage.scenario.fault('redis_stopped', 'CLIENT PAUSE', stage.absence({}));
    await redis.command('CLIENT', 'PAUSE', ms, 'ALL');
    await stage.sleep(ms);
    const late = (await stage.store.scriptRuns(redis)) - runs;
    await stage.agreed();
    end();
    return { 'scripts run late': late };
  },
};

/** Blocks Redis by a single long command, as a slow script does. */
export const storeAsleep: Fault = {
  about: 'DEBUG SLEEP',
  pauses: replicaTakesOver,
  touches: ['store'],
  carryOut: async (stage, random) => {
    const redis = await stage.master(random);
    const runs = await stage.store.scriptRuns(redis);
    const end = stage.scenario.fault('redis_stopped', 'DEBUG SLEEP', stage.absence({}));
    await redis.command('DEBUG', 'SLEEP', between(random, ...PAUSED_MS) / 1000);
    const late = (await stage.store.scriptRuns(redis)) - runs;
    await stage.agreed();
    end();
    return { 'scripts run late': late };
  },
};

const FULL_MS = [1000, 4000] as const;

/** Fills the memory. Redis then refuses new requests, while renewals and releases run as usual. */
export const storeFull: Fault = {
  about: 'maxmemory reached (noeviction)',
  touches: ['store'],
  carryOut: async (stage, random) => {
    const redis = await stage.master(random);
    const refused = await stage.store.refusals(redis, 'OOM');
    const end = stage.scenario.fault('store_full', 'maxmemory 1');
    await redis.command('CONFIG', 'SET', 'maxmemory', 1);
    await stage.sleep(between(random, ...FULL_MS));
    await redis.command('CONFIG', 'SET', 'maxmemory', 0);
    end();
    return { 'commands refused': (await stage.store.refusals(redis, 'OOM')) - refused };
  },
};
