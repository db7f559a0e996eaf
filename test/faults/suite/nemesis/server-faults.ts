import { between } from '../../../support/random';
import type { Member } from '../../fleet';
import type { Stage } from '../stage';
import type { Fault } from './fault';

const DOWN_MS = [100, 2500] as const;
const STOPPED_MS = [500, 6000] as const;

/** Kills one server, and starts a new process in its place. */
export const serverKilled: Fault = {
  about: 'SIGKILL of a server',
  touches: [],
  weight: 2,
  carryOut: (stage, random) =>
    stage.withMember(random, async (member) => {
      const connections = await clientConnections(member);
      const end = stage.scenario.fault('server_killed', 'SIGKILL');
      await member.server.kill();
      await stage.sleep(between(random, ...DOWN_MS));
      await stage.fleet.restart(member);
      end();
      return { 'servers killed': 1, 'connections broken': connections };
    }),
};

/** Kills one server and all clients, as the loss of a machine does, and replaces them. */
export const machineKilled: Fault = {
  about: 'SIGKILL of a server and of all clients at once',
  touches: ['clients'],
  carryOut: (stage, random) =>
    stage.withMember(random, async (member) => {
      const end = stage.scenario.fault('server_killed', 'SIGKILL of a server and all clients');
      // The server is killed first, so that the server does not see the end of its clients.
      const gone = member.server.kill();
      stage.clients.killAll();
      await gone;
      await Promise.all([stage.clients.refill(), stage.fleet.restart(member)]);
      end();
      return { 'servers killed': 1, 'client processes killed': stage.clients.size };
    }),
};

/** Pauses one server (SIGSTOP), for a part of a ttl or for longer than every lease. */
export const serverStopped: Fault = {
  about: 'SIGSTOP of a server',
  touches: [],
  weight: 2,
  carryOut: (stage, random) =>
    stage.withMember(random, async (member) => {
      const connections = await clientConnections(member);
      const ms = between(random, ...STOPPED_MS);
      const end = stage.scenario.fault('server_stopped', 'SIGSTOP');
      member.server.stop();
      await stage.sleep(ms);
      member.server.cont();
      end();
      return connections === 0 ? {} : { 'ms stopped': ms, 'connections held': connections };
    }),
};

/** Drains one server, and starts a new process in its place. */
export const serverDrained: Fault = {
  about: 'SIGTERM of a server, which drains',
  touches: [],
  carryOut: (stage, random) => stage.withMember(random, (member) => drain(stage, member)),
};

/** Drains and replaces all servers, one after the other, as a software update does. */
export const rollingRestart: Fault = {
  about: 'rolling restart of all servers',
  touches: [],
  carryOut: async (stage, random) => {
    const sum = { 'servers drained': 0, 'connections moved': 0 };
    const left = new Set(stage.fleet.members);
    while (left.size > 0) {
      const effect = await stage.withMember(random, (member) => (left.delete(member), drain(stage, member)), [
        ...left,
      ]);
      if (effect === undefined) break;
      sum['servers drained'] += effect['servers drained'];
      sum['connections moved'] += effect['connections moved'];
    }
    return sum;
  },
};

async function drain(stage: Stage, member: Member) {
  const connections = await clientConnections(member);
  const end = stage.scenario.fault('draining', 'SIGTERM');
  await member.server.term();
  await stage.fleet.restart(member);
  end();
  return { 'servers drained': 1, 'connections moved': connections };
}

/** Estimates the clients' connections. A server also has a listening socket and two connections to the store. */
async function clientConnections(member: Member): Promise<number> {
  const OWN_SOCKETS = 3;
  return Math.max(0, ((await member.sockets()) ?? OWN_SOCKETS + 1) - OWN_SOCKETS);
}
