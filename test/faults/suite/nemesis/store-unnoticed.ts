import { between } from '../../../../bench/support/random';
import type { Stage } from '../stage';
import type { Did, Fault } from './fault';

/** SCRIPT FLUSH: servers bring their scripts again, and nobody notices. */
export const scriptsFlushed: Fault = {
  about: 'SCRIPT FLUSH',
  touches: ['store'],
  carryOut: async (stage) => {
    const known = await stage.store.info('memory', 'number_of_cached_scripts');
    const end = stage.scene.fault('scripts_flushed', 'SCRIPT FLUSH');
    await stage.fleet.redis.command('SCRIPT', 'FLUSH');
    end();
    return { 'scripts dropped': known };
  },
};

/** CLIENT KILL: commands on the way are sent again by the connection that comes next. */
export const commandsCut: Fault = {
  about: 'CLIENT KILL TYPE normal',
  touches: ['store'],
  carryOut: (stage) => killed(stage, 'normal', 1),
};

/** The connections that bring hints; several times, so that hints are certainly lost. */
export const hintsCut: Fault = {
  about: 'CLIENT KILL TYPE pubsub, over and over',
  touches: ['store'],
  carryOut: (stage, random) => killed(stage, 'pubsub', between(random, 10, 40)),
};

const AGAIN_AFTER_MS = 60;

async function killed(stage: Stage, type: 'normal' | 'pubsub', times: number): Promise<Did> {
  const end = stage.scene.fault('connections_killed', `CLIENT KILL TYPE ${type}`);
  let count = 0;
  for (let i = 0; i < times; i += 1) {
    count += Number(await stage.fleet.redis.command('CLIENT', 'KILL', 'TYPE', type, 'SKIPME', 'yes'));
    if (i + 1 < times) await stage.sleep(AGAIN_AFTER_MS);
  }
  end();
  return { 'connections killed': count };
}
