import { randomUUID } from 'node:crypto';
import { Fleet, type Member } from './fleet';
import { CallEnded, type Held } from './held';
import { runScenario, type Scenario } from './scenario';
import { neighbourOf, runsOf, type ScriptKind } from './script-commands';

/** Long enough that no lease expires before its release, even on a busy machine. */
const TTL_MS = 20_000;
/** A stream renews after a third of the ttl. A shorter ttl lets a renewal fail while the machine is busy. */
const STREAM_TTL_MS = 6000;

/**
 * Server 0 reaches Redis directly. Server 1 reaches Redis through a proxy that cuts connections. All tests cut the same
 * connection of server 1, so a command of one test may be lost several times, and each retry may take long.
 */
let fleet: Fleet;

beforeAll(async () => {
  fleet = await Fleet.start({
    members: [{}, { redisProxy: true, env: { HOLDFAST_COMMAND_TIMEOUT: '20s' } }],
  });
});

afterAll(() => fleet?.close());

/** The lost message: the reply of a command that Redis has run, or the command itself. */
const WAYS = ['reply', 'request'] as const;
type Way = (typeof WAYS)[number];

/** Loses the next command of a kind about a request, and cuts the connection. Resolves after the cut. */
function lose(member: Member, way: Way, kind: ScriptKind, requestId: string): Promise<unknown> {
  const matches = runsOf(kind, requestId);
  return way === 'reply'
    ? member.redisProxy.dropNextReply(matches)
    : member.redisProxy.dropNextRequest(matches);
}

interface Stage {
  readonly scenario: Scenario;
  readonly name: string;
  readonly requestId: string;
  readonly member: Member;
  readonly lost: (kind: ScriptKind) => Promise<unknown>;
}

/** Acts of a client with their expected results. The results must be the same if a command is lost. */
const ACTS: Readonly<Record<string, (stage: Stage) => Promise<Held>>> = {
  'an acquire': async ({ scenario, name, requestId, member, lost }) => {
    const trap = lost('acquire');
    const held = await scenario.client('client', member).acquire({ name, ttlMs: TTL_MS, requestId });
    await trap;
    return held;
  },
  'an acquire that waits': async ({ scenario, name, requestId, member, lost }) => {
    const first = await scenario.client('first', fleet.member(0)).acquire({ name, ttlMs: TTL_MS });
    const trap = lost('acquire');
    const stream = scenario.client('client', member).hold({ name, ttlMs: TTL_MS, requestId });
    expect(await stream.queued()).toBe(1);
    await trap;
    await scenario.client('releaser', fleet.member(0)).release(first);
    return stream.granted();
  },
  'a claim': async ({ scenario, name, requestId, member, lost }) => {
    const first = await scenario.client('first', fleet.member(0)).acquire({ name, ttlMs: TTL_MS });
    const stream = scenario.client('client', member).hold({ name, ttlMs: TTL_MS, requestId });
    await stream.queued();
    const trap = lost('claim');
    await scenario.client('releaser', fleet.member(0)).release(first);
    const held = await stream.granted();
    await trap;
    return held;
  },
  'a withdrawal': async ({ scenario, name, requestId, member, lost }) => {
    const first = await scenario.client('first', fleet.member(0)).acquire({ name, ttlMs: TTL_MS });
    const trap = lost('withdraw');
    const client = scenario.client('client', member);
    const given: unknown = await client
      .acquire({ name, ttlMs: TTL_MS, waitMs: 300, requestId })
      .catch((error: unknown) => error);
    expect(given).toBeInstanceOf(CallEnded);
    expect((given as CallEnded).ending).toMatchObject({ code: 'ABORTED', reason: 'CONTENDED' });
    await trap;
    await scenario.client('releaser', fleet.member(0)).release(first);
    return client.acquire({ name, ttlMs: TTL_MS, requestId });
  },
  'a touch': async ({ scenario, name, requestId, member, lost }) => {
    const first = await scenario.client('first', fleet.member(0)).acquire({ name, ttlMs: TTL_MS });
    const trap = lost('touch');
    const stream = scenario.client('client', member).hold({ name, ttlMs: TTL_MS, requestId });
    await trap;
    await scenario.client('releaser', fleet.member(0)).release(first);
    return stream.granted();
  },
  'a renewal by the holder': async ({ scenario, name, requestId, member, lost }) => {
    const client = scenario.client('client', member);
    const held = await client.acquire({ name, ttlMs: TTL_MS, requestId });
    const trap = lost('renew');
    const renewed = await client.renew(held);
    await trap;
    expect(renewed.token).toBe(held.token);
    return renewed;
  },
  'a renewal by a stream': async ({ scenario, name, requestId, member, lost }) => {
    const stream = scenario.client('client', member).hold({ name, ttlMs: STREAM_TTL_MS, requestId });
    const held = await stream.granted();
    const trap = lost('renew');
    await stream.more('renewed', 2);
    await trap;
    expect(stream.kinds).not.toContain('renewalFailed');
    return held;
  },
  'a renewal of two leases of one bucket together': async ({ scenario, name, requestId, member, lost }) => {
    const client = scenario.client('client', member);
    const stream = client.hold({ name, ttlMs: STREAM_TTL_MS, requestId });
    const other = client.hold({ name: neighbourOf(name), ttlMs: STREAM_TTL_MS });
    const [held, beside] = [await stream.granted(), await other.granted()];
    const trap = lost('renewMany');
    await Promise.all([stream.more('renewed', 2), other.more('renewed', 2)]);
    await trap;
    for (const { kinds } of [stream, other]) expect(kinds).not.toContain('renewalFailed');
    await client.release(beside);
    return held;
  },
  'an attach': async ({ scenario, name, requestId, member, lost }) => {
    const held = await scenario.client('first', fleet.member(0)).acquire({ name, ttlMs: TTL_MS, requestId });
    const trap = lost('renew');
    const again = await scenario.client('client', member).attach(held).granted();
    await trap;
    expect(again.token).toBe(held.token);
    return again;
  },
  'a release': async ({ scenario, name, requestId, member, lost }) => {
    const client = scenario.client('client', member);
    const held = await client.acquire({ name, ttlMs: TTL_MS, requestId });
    const next = scenario.client('next', fleet.member(0));
    const waiting = next.hold({ name, ttlMs: TTL_MS });
    await waiting.queued();
    const trap = lost('release');
    expect(await client.release(held)).toEqual({ released: true, cause: null });
    await trap;
    return waiting.granted();
  },
  'a release that grants to a waiter of the same server': async ({
    scenario,
    name,
    requestId,
    member,
    lost,
  }) => {
    const client = scenario.client('client', member);
    const held = await client.acquire({ name, ttlMs: TTL_MS, requestId });
    const waiting = scenario.client('next', member).hold({ name, ttlMs: TTL_MS });
    await waiting.queued();
    const trap = lost('release');
    expect(await client.release(held)).toEqual({ released: true, cause: null });
    await trap;
    return waiting.granted();
  },
};

describe('the loss of a connection with its command or reply', () => {
  test.concurrent.each(Object.entries(ACTS))("does not change the client's result of %s", (title, act) =>
    runScenario({ fleet, title: `lost, ${title}` }, async (scenario) => {
      for (const way of WAYS) {
        const name = scenario.lock(`lock, ${way}`);
        const member = fleet.member(1);
        const requestId = randomUUID();
        const lost = (kind: ScriptKind): Promise<unknown> => {
          const end = scenario.fault('reply_dropped', `the ${way} of ${kind}`, { names: [name] });
          return lose(member, way, kind, requestId).then(end);
        };
        const held = await act({ scenario, name, requestId, member, lost });
        expect((await scenario.client('last', fleet.member(0)).release(held)).released).toBe(true);
      }
    }),
  );
});
