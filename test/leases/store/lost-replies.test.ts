import { randomUUID } from 'node:crypto';
import { StoreFailure } from '../../../src/base/errors';
import type { Resource } from '../../../src/leases/lease';
import type { RevokeTarget } from '../../../src/leases/lease-store';
import { eventually } from '../../support/eventually';
import { type FixtureOptions, LeaseFixture } from '../../support/leases/lease-fixture';
import { brokenInvariants } from '../../support/leases/lease-invariants';
import { Requester, type RequesterOptions } from '../../support/leases/lease-requester';
import type { TestServer } from '../../support/leases/lease-server';
import { serverUrl } from '../../support/processes/redis-process';
import { type RedisCommand, TcpProxy } from '../../support/proxy/tcp-proxy';
import { isScript, operationsOf, scriptCalls } from '../../support/redis-operations';
import { is } from '../../support/reply-kinds';

const TTL_MS = 20_000;

interface Scene {
  readonly resource: Resource;
  readonly holder: Requester;
  readonly waiter: Requester;
  readonly second: Requester;
}

/** Operations on a scene. The usual scene has a holder and a waiter. */
const operations: readonly [string, (scene: Scene) => Promise<object>][] = [
  ['an acquire that is granted', ({ second }) => second.try()],
  ['an acquire that waits', ({ second }) => second.queue()],
  ['an acquire that is refused', ({ second }) => second.try()],
  ['a repeated acquire', ({ holder }) => holder.try()],
  ['a claim of an offer', ({ waiter }) => waiter.claim()],
  ['a claim of a place', ({ waiter }) => waiter.claim()],
  ['a withdrawal of a wait', ({ waiter }) => waiter.withdraw()],
  ['a withdrawal of an offer', ({ waiter }) => waiter.withdraw()],
  ['a give-back of a grant', ({ holder }) => holder.giveBack()],
  ['a give-back of an offer', ({ waiter }) => waiter.giveBack()],
  ['a touch', ({ waiter }) => waiter.touch()],
  ['a renewal', ({ holder }) => holder.renew(holder.secret)],
  ['a renewal by a stream', ({ holder }) => holder.keepAlive(holder.secret)],
  ['an attach', ({ holder, second }) => second.takeOver(holder.secret)],
  ['a release', ({ holder }) => holder.release(holder.secret)],
  ['an inspection', ({ holder }) => holder.server.store.inspect(holder.resource)],
];

async function openStage(options: FixtureOptions) {
  const on = await LeaseFixture.open(options);
  const proxy = await TcpProxy.open({ targetPort: on.redis.port, protocol: 'redis' });
  const direct = await on.server('s1');
  const proxied = await on.server('s2', serverUrl(proxy.address));
  const close = async () => {
    await on.close();
    await proxy.close();
  };
  return { on, proxy, direct, proxied, close };
}

type Stage = Awaited<ReturnType<typeof openStage>>;

/**
 * The store repeats a command after a lost connection. The scripts' clock is frozen, so the state after a repeated
 * command must equal the state after a command that was sent once.
 */
describe('after the connection is lost', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await openStage({ frozenClock: true });
    await Promise.all(
      operations.map(async ([what, operate]) => operate(await setTheScene(what, stage.direct))),
    );
  });
  afterAll(() => stage.close());

  async function setTheScene(what: string, server: TestServer): Promise<Scene> {
    const resource = stage.on.resource();
    const request = (options?: RequesterOptions) =>
      new Requester(server, resource, { ttlMs: TTL_MS, ...options });
    const holder = request({ stream: true });
    const waiter = request();
    const attaching = what === 'an attach' ? { requestId: holder.requestId, stream: true } : {};
    const second = request(attaching);
    if (what !== 'an acquire that is granted') {
      is('granted', await holder.queue());
      if (what !== 'an acquire that is refused') is('waiting', await waiter.queue());
    }
    if (what.endsWith('an offer')) await holder.release(holder.secret);
    // Redis's clock moves, because a renewal at the time of the grant would not change the end of the lease.
    await stage.on.pass(resource, 1000);
    return { resource, holder, waiter, second };
  }

  /** Everything that Redis stores of the scene. Names of the requesters replace their ids and secrets. */
  async function stateOf({ resource, ...requesters }: Scene): Promise<unknown> {
    const stored = await stage.on.stored(resource);
    expect(brokenInvariants(stored)).toEqual([]);
    let text = JSON.stringify(stored);
    for (const [name, { requestId, attach, secret, server }] of Object.entries(requesters)) {
      text = text
        .replaceAll(requestId, `request of ${requesters.holder.requestId === requestId ? 'holder' : name}`)
        .replaceAll(`"${attach}"`, `"call of ${name}"`)
        .replaceAll(secret, `secret of ${name}`)
        .replaceAll(`"id":"${server.id}"`, '"id":"server"');
    }
    return JSON.parse(text);
  }

  /** Treats a lease that was released before as `released`, because callers get the same answer. */
  const kindOf = (reply: object & { kind?: string; cause?: string }) =>
    reply.kind === 'finished' && reply.cause === 'released' ? 'released' : (reply.kind ?? 'shown');

  describe.each([
    ['with the reply', 'dropNextReply'],
    ['with the command', 'dropNextRequest'],
  ] as const)('%s', (_, drop) => {
    it.each(operations)(
      '%s gives the same answer and the same state as without the loss',
      async (what, operate) => {
        const undisturbed = await setTheScene(what, stage.direct);
        const expected = kindOf(await operate(undisturbed));
        const scene = await setTheScene(what, stage.proxied);
        const lost = stage.proxy[drop](isScript);
        const answer = await operate(scene);
        await lost;
        expect(kindOf(answer)).toBe(expected);
        // An inspection grants nothing.
        if (what !== 'an inspection') expect(stage.proxied.missed).toBeGreaterThan(0);
        stage.proxied.missed = 0;
        expect(await stateOf(scene)).toEqual(await stateOf(undisturbed));
      },
    );
  });
});

describe('a revocation with a lost reply', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await openStage({ frozenClock: true });
  });
  afterAll(() => stage.close());

  /** A lock with a holder and two waiters. `offered`: the holder has released the lock, and the first waiter has an offer. */
  async function scene(offered: boolean) {
    const lock = stage.on.resource();
    const [holder, waiter] = [
      new Requester(stage.direct, lock),
      new Requester(stage.direct, lock, { ttlMs: 120_001 }),
    ];
    is('granted', await holder.try());
    is('waiting', await waiter.queue());
    if (offered) is('released', await holder.release(holder.secret));
    const { records, numbers } = await stage.on.stored(lock);
    const fencingToken = BigInt(numbers.token ?? 0);
    const enqueueTimeUs = BigInt(records[waiter.requestId]?.queuedAt ?? 0);
    return { lock, holder, waiter, fencingToken, enqueueTimeUs };
  }

  async function revokeWithLostReply(resource: Resource, target: RevokeTarget, force: boolean) {
    const { store } = stage.proxied;
    // Redis knows the script, so that the first reply is that of the revocation.
    await store.revoke(stage.on.resource(), { target, force, after: undefined });
    const lost = stage.proxy.dropNextReply(isScript);
    const reply = store.revoke(resource, { target, force, after: undefined });
    const outcome = await reply.catch((error: unknown) => error);
    await lost;
    return outcome;
  }

  const UNKNOWN = { carriedOut: 'unknown', kind: 'unavailable' };

  it('is in doubt with force, because the repeated command does not find the lease again', async () => {
    const { lock, fencingToken } = await scene(false);
    expect(await revokeWithLostReply(lock, { kind: 'token', fencingToken }, true)).toMatchObject(UNKNOWN);
    expect(await revokeWithLostReply(lock, { kind: 'all-holders' }, true)).toMatchObject(UNKNOWN);
  });

  it('is in doubt if it may have ended an offer or a wait', async () => {
    const { lock, waiter, fencingToken } = await scene(true);
    expect(await revokeWithLostReply(lock, { kind: 'token', fencingToken }, false)).toMatchObject(UNKNOWN);
    expect(await waiter.claim()).toMatchObject({ kind: 'finished', cause: 'revoked' });
    const all = await scene(true);
    expect(await revokeWithLostReply(all.lock, { kind: 'all-holders' }, false)).toMatchObject(UNKNOWN);
    const waiting = await scene(false);
    const { enqueueTimeUs } = waiting;
    const target = { kind: 'waiter', position: 1, enqueueTimeUs } as const;
    expect(await revokeWithLostReply(waiting.lock, target, false)).toMatchObject(UNKNOWN);
  });

  it('is answered without force if the lease is found again by its token', async () => {
    const { lock, holder, fencingToken } = await scene(false);
    const { requestId } = holder;
    for (const target of [
      { kind: 'token', fencingToken },
      { kind: 'lease', requestId, fencingToken },
    ] as const)
      expect(await revokeWithLostReply(lock, target, false)).toMatchObject({ kind: 'revoked', count: 1 });
  });
});

describe('a grant over a disturbed connection', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await openStage({});
    // Redis knows the script from here on.
    is('granted', await new Requester(stage.direct, stage.on.resource()).try());
  });
  afterAll(() => stage.close());

  /** The times at which the proxy receives scripts. */
  function recordSends(): number[] {
    const sends: number[] = [];
    const record = (command: RedisCommand) => {
      for (const _ of operationsOf(command)) sends.push(performance.now());
    };
    stage.proxy.on('command', record);
    return sends;
  }
  afterEach(() => {
    stage.proxy.removeAllListeners('command');
  });

  it('is the grant of the lost reply, and has the send time of the repeated command', async () => {
    const lock = stage.on.resource();
    const alice = new Requester(stage.proxied, lock, { ttlMs: TTL_MS });
    const sends = recordSends();
    const lost = stage.proxy.dropNextReply(isScript);
    const before = performance.now();
    const lease = is('granted', await alice.try());
    await lost;
    expect(sends).toHaveLength(2);
    const stored = await stage.on.stored(lock);
    expect(stored.records[alice.requestId]?.fencingToken).toBe(String(lease.fencingToken));
    // The lease began with the first send. The remaining time counts from the second send, because Redis answered it.
    expect(lease.sentAt).toBeGreaterThan(sends[0] as number);
    expect(lease.sentAt).toBeLessThanOrEqual(sends[1] as number);
    expect(lease.sentAt).toBeGreaterThan(before);
    expect(lease.remainingMs).toBeLessThan(TTL_MS);
  });

  it('has the send time of the command, not the arrival time of the reply', async () => {
    const alice = new Requester(stage.proxied, stage.on.resource(), { ttlMs: TTL_MS });
    const sends = recordSends();
    stage.proxy.delay('both', 60);
    const before = performance.now();
    const { sentAt } = is('granted', await alice.try());
    const after = performance.now();
    stage.proxy.passEverything();
    expect(sentAt).toBeGreaterThanOrEqual(before);
    expect(sentAt).toBeLessThanOrEqual(sends[0] as number);
    expect(after - sentAt).toBeGreaterThanOrEqual(119);
  });

  it('reaches the callers of all 40 operations that are in flight when the connection is lost (chapter 27)', async () => {
    const requesters = Array.from({ length: 40 }, () => new Requester(stage.proxied, stage.on.resource()));
    const sends = recordSends();
    stage.proxy.blackHole('toClient');
    const answers = Promise.all(requesters.map((requester) => requester.try()));
    await eventually('all operations to be in flight', () => sends.length === requesters.length);
    stage.proxy.cutAll();
    stage.proxy.passEverything();
    for (const answer of await answers) is('granted', answer);
  });
});

const COMMAND_TIMEOUT_MS = 600;

/** An unanswered command may still be on its way to Redis, and may run after commands of other servers. */
describe('commands that arrive late at Redis', () => {
  let on: LeaseFixture;
  let proxy: TcpProxy;
  let slow: TestServer;
  let quick: TestServer;
  beforeEach(async () => {
    on = await LeaseFixture.open({ commandTimeoutMs: COMMAND_TIMEOUT_MS });
    proxy = await TcpProxy.open({ targetPort: on.redis.port, protocol: 'redis' });
    slow = await on.server('slow', serverUrl(proxy.address));
    quick = await on.server('quick');
  });
  afterEach(async () => {
    await on.close();
    await proxy.close();
  });

  /** Waits until the delayed command has failed, runs `meanwhile`, and then lets the command arrive. */
  async function arriveLate(command: Promise<unknown>, meanwhile: () => Promise<void>): Promise<void> {
    const failure: unknown = await command.then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(failure).toBeInstanceOf(StoreFailure);
    expect((failure as StoreFailure).carriedOut).toBe('unknown');
    await meanwhile();
    const before = await scriptRuns();
    proxy.passEverything();
    await eventually('the late command to run', async () => (await scriptRuns()) > before, {
      timeoutMs: 10_000,
    });
  }

  async function scriptRuns(): Promise<number> {
    return scriptCalls(String(await on.redis.command('INFO', 'commandstats')));
  }

  /** Delays all commands of the slow server. They carry their deadline or no deadline. */
  function holdCommands(deadline: 'with its deadline' | 'without a deadline'): void {
    if (deadline === 'without a deadline')
      slow.epochArguments = [slow.node.epochs.epochArguments(0, [])?.[0] as string, Number.MAX_SAFE_INTEGER];
    proxy.blackHole('toTarget');
  }

  it.each([
    ['with its deadline', 'leaves the lease alone'],
    ['without a deadline', 'takes over the lease'],
  ] as const)('an acquire %s %s that another server granted to a retry', async (deadline, effect) => {
    const lock = on.resource();
    const [requestId, ttlMs] = [randomUUID(), 60_000];
    // Redis knows the script already, so the delayed command is complete.
    is('granted', await new Requester(slow, on.resource()).try());
    const first = new Requester(slow, lock, { requestId, ttlMs, stream: true });
    const retry = new Requester(quick, lock, { requestId, ttlMs, stream: true });
    holdCommands(deadline);
    await arriveLate(first.try(), async () => {
      is('granted', await retry.try());
    });
    is(effect === 'leaves the lease alone' ? 'granted' : 'superseded', await retry.keepAlive(retry.secret));
  });

  it('an acquire after its deadline grants nothing', async () => {
    const lock = on.resource();
    is('granted', await new Requester(slow, on.resource()).try());
    holdCommands('with its deadline');
    await arriveLate(new Requester(slow, lock, { ttlMs: 60_000 }).try(), async () => undefined);
    expect((await on.stored(lock)).sets.ends).toEqual([]);
  });

  it('a renewal after its deadline does not renew the lease', async () => {
    const lock = on.resource();
    const alice = new Requester(slow, lock, { ttlMs: 60_000 });
    is('granted', await alice.try());
    is('granted', await alice.renew(alice.secret));
    holdCommands('with its deadline');
    await arriveLate(alice.renew(alice.secret, 120_000), async () => undefined);
    const [end] = (await on.stored(lock)).sets.ends;
    expect((end?.score ?? 0) / 1000 - Number(await on.now()) / 1000).toBeLessThan(60_000);
  });

  it('a release after its deadline releases the lease', async () => {
    const lock = on.resource();
    const alice = new Requester(slow, lock, { ttlMs: 60_000 });
    is('granted', await alice.try());
    is('finished', await other());
    holdCommands('with its deadline');
    await arriveLate(alice.release(alice.secret), async () => {
      is('refused', await new Requester(quick, lock).try());
    });
    is('granted', await new Requester(quick, lock).try());

    async function other() {
      const bob = new Requester(slow, on.resource(), { ttlMs: 60_000 });
      is('granted', await bob.try());
      is('released', await bob.release(bob.secret));
      return bob.release(bob.secret);
    }
  });
});
