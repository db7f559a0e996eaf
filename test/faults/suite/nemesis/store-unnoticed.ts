import { between, type Random } from '../../../support/random';
import type { Stage } from '../stage';
import type { Effect, Fault } from './fault';

/** Drops all scripts and functions. The servers load them again, without any effect on clients. */
export const scriptsFlushed: Fault = {
  about: 'SCRIPT FLUSH and FUNCTION FLUSH',
  touches: ['store'],
  carryOut: async (stage, random) => {
    const redis = await stage.master(random);
    const known = await stage.store.info(redis, 'memory', 'number_of_cached_scripts');
    const functions = await stage.store.info(redis, 'memory', 'number_of_functions');
    const end = stage.scenario.fault('scripts_flushed', 'SCRIPT FLUSH and FUNCTION FLUSH');
    await redis.command('SCRIPT', 'FLUSH');
    await redis.command('FUNCTION', 'FLUSH');
    end();
    return { 'scripts dropped': known, 'functions dropped': functions };
  },
};

/** Closes the command connections. The servers repeat the commands in flight over new connections. */
export const commandsCut: Fault = {
  about: 'CLIENT KILL TYPE normal',
  touches: ['store'],
  carryOut: (stage, random) => killed(stage, random, 'normal', 1),
};

/** Closes the pub/sub connections many times, so that hints are certainly lost. */
export const hintsCut: Fault = {
  about: 'CLIENT KILL TYPE pubsub, many times',
  touches: ['store'],
  carryOut: (stage, random) => killed(stage, random, 'pubsub', between(random, 10, 40)),
};

const AGAIN_AFTER_MS = 60;

async function killed(
  stage: Stage,
  random: Random,
  type: 'normal' | 'pubsub',
  times: number,
): Promise<Effect> {
  const redis = await stage.master(random);
  const end = stage.scenario.fault('connections_killed', `CLIENT KILL TYPE ${type}`);
  let count = 0;
  for (let i = 0; i < times; i += 1) {
    count += Number(await redis.command('CLIENT', 'KILL', 'TYPE', type, 'SKIPME', 'yes'));
    if (i + 1 < times) await stage.sleep(AGAIN_AFTER_MS);
  }
  end();
  return { 'connections killed': count };
}
