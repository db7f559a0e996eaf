import { between } from '../../../support/random';
import type { Fault } from './fault';

const STOPPED_MS = [500, 5000] as const;
const SILENCE_MS = [300, 6000] as const;
/** Longer than the heartbeat_timeout. */
const LONG_SILENCE_MS = [16_000, 18_000] as const;
const LONG_SILENCES = 0.15;

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

/** Drops or delays the heartbeats of a client process, or stops them, for a part of a ttl or until SESSION_SILENT. */
export const heartbeatsDisturbed: Fault = {
  about: 'heartbeats of a client process are dropped, late, or not made',
  touches: ['clients'],
  weight: 2,
  carryOut: async (stage, random) => {
    const victim = stage.clients.random(random);
    if (victim === undefined) return undefined;
    const [least, most] = random() < LONG_SILENCES ? LONG_SILENCE_MS : SILENCE_MS;
    const ms = between(random, least, most);
    const sessions = stage.clients.sessionClients(victim);
    // A process that has just started would be killed by the signal.
    if (sessions === 0) return undefined;
    const end = victim.disturbHeartbeats();
    await stage.sleep(ms);
    end();
    return { 'sessions disturbed': sessions, 'ms disturbed': ms };
  },
};
