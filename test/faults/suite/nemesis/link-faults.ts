import { between, oneOf, type Random } from '../../../support/random';
import type { Direction, TcpProxy } from '../../../support/proxy/tcp-proxy';
import { runsOf, type ScriptKind } from '../../script-commands';
import type { Stage } from '../stage';
import type { Effect, Fault } from './fault';

const CUT_MS = [300, 5000] as const;
const SLOW_MS = [500, 4000] as const;
const DELAY_MS = [50, 900] as const;
/** The time limit of the wait for the next matching command (ms). */
const MATCH_TIMEOUT_MS = 5000;
const DROPPED: readonly ScriptKind[] = ['acquire', 'claim', 'withdraw', 'renew', 'renewMany', 'release'];

/** Redis runs a command, and the reply is lost with the connection. */
export const replyDropped: Fault = {
  about: 'a reply of Redis is lost with its connection',
  touches: ['store link'],
  topologies: ['one'],
  needs: 'store proxy',
  weight: 3,
  carryOut: (stage, random) => {
    const kind = oneOf(random, DROPPED);
    return stage.withMember(
      random,
      async ({ redisProxy }) => {
        const end = stage.scenario.fault('reply_dropped', kind);
        const timeout = new AbortController();
        const dropped = await Promise.race([
          redisProxy.dropNextReply(runsOf(kind)).then(() => 1),
          stage.sleep(MATCH_TIMEOUT_MS, timeout.signal).then(() => 0),
        ]);
        timeout.abort();
        redisProxy.forgetTraps();
        end();
        return { [`replies to ${kind} lost`]: dropped };
      },
      stage.parts.withStoreProxy,
    );
  },
};

/** No byte passes between one server and Redis, in one or both directions. At the end, all held bytes arrive. */
export const storeLinkCut: Fault = {
  about: 'black hole between a server and Redis, one-way or both ways',
  touches: ['store link'],
  topologies: ['one'],
  needs: 'store proxy',
  weight: 2,
  carryOut: (stage, random) =>
    stage.withMember(random, (member) => held(stage, random, member.redisProxy), stage.parts.withStoreProxy),
};

/** No byte passes between one server and its clients. At the end, all held bytes arrive. */
export const clientLinkCut: Fault = {
  about: 'black hole between a server and its clients, one-way or both ways',
  touches: ['client link'],
  needs: 'client proxy',
  weight: 2,
  carryOut: (stage, random) =>
    stage.withMember(
      random,
      (member) => held(stage, random, member.clientProxy),
      stage.parts.withClientProxy,
    ),
};

/** A half-open connection: one side stays open although the other side has ended, and then is reset. */
export const storeLinkHalfOpen: Fault = {
  about: 'half-open connections of a server to Redis, then a reset',
  touches: ['store link'],
  topologies: ['one'],
  needs: 'store proxy',
  carryOut: (stage, random) =>
    stage.withMember(
      random,
      (member) => held(stage, random, member.redisProxy, true),
      stage.parts.withStoreProxy,
    ),
};

/** Delays all bytes between one server and Redis. */
export const storeLinkSlow: Fault = {
  about: 'slow link between a server and Redis',
  touches: ['store link'],
  topologies: ['one'],
  needs: 'store proxy',
  weight: 2,
  carryOut: (stage, random) =>
    stage.withMember(random, (member) => slow(stage, random, member.redisProxy), stage.parts.withStoreProxy),
};

/** Delays all bytes between one server and its clients. */
export const clientLinkSlow: Fault = {
  about: 'slow link between a server and its clients',
  touches: ['client link'],
  needs: 'client proxy',
  carryOut: (stage, random) =>
    stage.withMember(
      random,
      (member) => slow(stage, random, member.clientProxy),
      stage.parts.withClientProxy,
    ),
};

async function held(stage: Stage, random: Random, proxy: TcpProxy, lost = false): Promise<Effect> {
  const direction = oneOf<Direction>(random, ['both', 'toTarget', 'toClient']);
  const end = stage.scenario.fault('link_cut', `black hole: ${direction}`);
  const before = sent(proxy, direction);
  proxy.blackHole(direction);
  await stage.sleep(between(random, ...CUT_MS));
  const bytes = sent(proxy, direction) - before;
  if (lost) proxy.cutAll();
  proxy.passEverything();
  end();
  return { [lost ? 'bytes lost' : 'bytes late']: bytes };
}

async function slow(stage: Stage, random: Random, proxy: TcpProxy): Promise<Effect> {
  const direction = oneOf<Direction>(random, ['both', 'toTarget', 'toClient']);
  const delayMs = between(random, ...DELAY_MS);
  const end = stage.scenario.fault('link_slow', `delay of ${delayMs} ms: ${direction}`);
  const before = sent(proxy, direction);
  proxy.delay(direction, delayMs);
  await stage.sleep(between(random, ...SLOW_MS));
  const bytes = sent(proxy, direction) - before;
  proxy.passEverything();
  end();
  return { 'bytes late': bytes };
}

function sent(proxy: TcpProxy, direction: Direction): number {
  const { toTarget, toClient } = proxy.bytes;
  return (direction === 'toClient' ? 0 : toTarget) + (direction === 'toTarget' ? 0 : toClient);
}
