import { randomUUID } from 'node:crypto';
import { leaseKeys } from '../../src/leases/redis/lease-keys';
import { LockClient } from '../support/clients/lease-client';
import { eventually } from '../support/eventually';
import { Fleet, type Member } from './fleet';
import { CallEnded, type Held } from './held';
import { PREFIX } from './observer';
import { runScenario, type Scenario } from './scenario';
import { neighbourOf, runsOf, type ScriptKind } from './script-commands';

/** Long enough that no lease expires before its release, even on a busy machine. */
const TTL_MS = 20_000;
/** A stream renews after a third of the ttl. A shorter ttl lets a renewal fail while the machine is busy. */
const STREAM_TTL_MS = 6000;

/**
 * Server 0 reaches Redis directly. The other servers reach Redis through a proxy of their own. The tests of PATIENT run at
 * the same time and cut the same connection, so a command of one test may be lost several times, and each retry may take
 * long. Server 1 is cut off by one test after the other.
 */
let fleet: Fleet;
/** The server that waits long for a reply. */
const PATIENT = 2;

beforeAll(async () => {
  const cut = { redisProxy: true, env: { HOLDFAST_COMMAND_TIMEOUT: '600ms' } };
  const patient = { redisProxy: true, env: { HOLDFAST_COMMAND_TIMEOUT: '20s' } };
  fleet = await Fleet.start({ members: [{}, cut, patient] });
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
        const member = fleet.member(PATIENT);
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

/** The test before may have cut the server off, or failed before it was reachable again. */
async function untilReachable(): Promise<void> {
  fleet.member(1).redisProxy.passEverything();
  const client = new LockClient(fleet.member(1).address);
  try {
    await eventually('the server to reach Redis', () => client.get('any'));
  } finally {
    client.close();
  }
}

describe('outcome unknown', () => {
  beforeEach(untilReachable);

  const TTL_MS = 3000;
  const OUTCOME_UNKNOWN = { code: 'UNAVAILABLE', reason: 'OUTCOME_UNKNOWN' };

  /** Cuts the server off from Redis after Redis has run the next matching command. */
  function cutOffAfter(scenario: Scenario, kind: ScriptKind, requestId: string): () => void {
    const { redisProxy } = fleet.member(1);
    const end = scenario.fault('link_cut', 'the reply is dropped and new connections are refused');
    void redisProxy.dropNextReply(runsOf(kind, requestId)).then(() => redisProxy.refuseNew());
    return () => {
      redisProxy.passEverything();
      end();
    };
  }

  async function endingOf(call: Promise<unknown>): Promise<unknown> {
    const error = await call.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    if (!(error instanceof CallEnded))
      throw new Error(`the call did not end with an error status: ${String(error)}`);
    const { code, reason } = error.ending;
    return { code, reason };
  }

  test('an acquire without a reply ends with OUTCOME_UNKNOWN, and its retry at another server gets the lease', () =>
    runScenario({ fleet, title: 'unknown acquire' }, async (scenario) => {
      const name = scenario.lock('lock');
      const client = scenario.client('client', fleet.member(1));
      const request = { name, ttlMs: TTL_MS, requestId: randomUUID() };
      const heal = cutOffAfter(scenario, 'acquire', request.requestId);
      expect(await endingOf(client.acquire(request))).toEqual(OUTCOME_UNKNOWN);
      const [granted] = await scenario.observer.holdersOtherThan(name, 0n);
      client.moveTo(fleet.member(0).address);
      const held = await client.acquire(request);
      expect(Number(held.token)).toBe(granted);
      // The first server gives back its unanswered grant now. This must not end the lease of the retry.
      heal();
      const watched = scenario.client('other', fleet.member(0)).hold({ name, ttlMs: TTL_MS });
      await watched.queued();
      await new Promise((resolve) => setTimeout(resolve, 1500));
      expect(watched.held).toBeUndefined();
      expect((await client.release(held)).released).toBe(true);
      const next = await watched.granted();
      await scenario.client('releaser', fleet.member(0)).release(next);
    }));

  test('a release without a reply ends with OUTCOME_UNKNOWN, and its retry gets the first answer', () =>
    runScenario({ fleet, title: 'unknown release' }, async (scenario) => {
      const name = scenario.lock('lock');
      const client = scenario.client('client', fleet.member(1));
      const held = await client.acquire({ name, ttlMs: TTL_MS });
      const heal = cutOffAfter(scenario, 'release', held.requestId);
      expect(await endingOf(client.release(held))).toEqual(OUTCOME_UNKNOWN);
      client.moveTo(fleet.member(0).address);
      expect(await client.release(held)).toEqual({ released: true, cause: null });
      heal();
    }));

  test('a withdrawal without a reply ends with OUTCOME_UNKNOWN, not CONTENDED, and keeps the place', () =>
    runScenario({ fleet, title: 'unknown withdraw' }, async (scenario) => {
      const name = scenario.lock('lock');
      const holder = scenario.client('holder', fleet.member(0));
      const first = await holder.hold({ name, ttlMs: TTL_MS }).granted();
      const client = scenario.client('client', fleet.member(1));
      const request = { name, ttlMs: TTL_MS, requestId: randomUUID() };
      const heal = cutOffAfter(scenario, 'withdraw', request.requestId);
      expect(await endingOf(client.acquire({ ...request, waitMs: 300 }))).toEqual(OUTCOME_UNKNOWN);
      const newcomer = scenario.client('newcomer', fleet.member(0));
      const later = newcomer.hold({ name, ttlMs: TTL_MS });
      await later.queued();
      client.moveTo(fleet.member(0).address);
      const stream = client.hold(request);
      expect(await stream.queued()).toBe(1);
      heal();
      await holder.release(first);
      await client.release(await stream.granted());
      await newcomer.release(await later.granted());
    }));
});

describe('limit unknown', () => {
  beforeEach(untilReachable);

  test('a limit change without a reply ends with OUTCOME_UNKNOWN, and its repeat at another server answers OK', () =>
    runScenario({ fleet, title: 'unknown limit' }, async (scenario) => {
      const name = await scenario.semaphore('permits', 3);
      const client = scenario.client('client', fleet.member(0), 'semaphore');
      const held = await client.acquire({ name, ttlMs: 5000, permits: 3 });
      const waiting = client.hold({ name, ttlMs: 3000, permits: 3 });
      await waiting.queued();
      const [state] = leaseKeys(PREFIX, { service: 'semaphore', name });
      const { redisProxy } = fleet.member(1);
      const operator = scenario.operator('operator', fleet.member(1));
      const end = scenario.fault('link_cut', 'the reply is dropped and new connections are refused');
      void redisProxy.dropNextReply(runsOf('limit', state)).then(() => redisProxy.refuseNew());
      expect(await operator.setLimit(name, 2, 3)).toEqual(['OUTCOME_UNKNOWN']);
      redisProxy.passEverything();
      end();
      expect(await waiting.ended).toMatchObject({ code: 'FAILED_PRECONDITION', reason: 'NEVER_FITS' });
      expect(await scenario.observer.read(name)).toMatchObject({
        limit: 2,
        usedCount: 3,
        overcommittedCount: 1,
      });
      await client.release(held);
    }));
});
