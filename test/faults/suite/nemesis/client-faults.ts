import { between } from '../../../support/random';
import type { Fault } from './fault';

const STOPPED_MS = [500, 5000] as const;

/** Kills a client process with all its workers, and starts a new process. */
export const clientsKilled: Fault = {
  about: 'SIGKILL of a client process',
  touches: ['clients'],
  weight: 2,
  carryOut: async (stage, random) => {
    const victim = stage.clients.random(random);
    if (victim === undefined) return undefined;
    const open = stage.clients.openCalls(victim);
    await stage.clients.replace(victim);
    return open;
  },
};

/** Stops a client process with all its workers, for a part of a ttl or for longer than all its leases. */
export const clientsStopped: Fault = {
  about: 'SIGSTOP of a client process',
  touches: ['clients'],
  weight: 2,
  carryOut: async (stage, random) => {
    const victim = stage.clients.random(random);
    if (victim === undefined) return undefined;
    const open = stage.clients.openCalls(victim);
    const resume = victim.stop();
    await stage.sleep(between(random, ...STOPPED_MS));
    resume();
    return open;
  },
};
