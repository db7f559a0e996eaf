import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { HealthCheckResponse_ServingStatus as ServingStatus } from '../../generated/typescript/grpc/health/v1/health';
import { INVARIANTS } from '../support/checkers/violation';
import { watchHealth } from '../support/clients/calls';
import { LockClient } from '../support/clients/lease-client';
import { eventually } from '../support/eventually';
import { monotonicMicros } from '../support/history-recorder';
import { Fleet, type Member, type MemberOptions } from './fleet';
import { CallEnded, type Held } from './held';
import type { RecordedStream } from './recorded-stream';
import { runScenario, type Scenario } from './scenario';
import { runsOf } from './script-commands';
import { WaiterLine } from './waiter-line';

/** Much longer than a drain without open calls. */
const DRAIN_TIMEOUT_MS = 12_000;
const CUT_OFF: MemberOptions = {
  redisProxy: true,
  env: { HOLDFAST_DRAIN_TIMEOUT: `${DRAIN_TIMEOUT_MS}ms` },
};
/** A busy machine may leave a ping unanswered for 500 ms, so only servers that are cut off from their clients have these pings. */
const CUT_OFF_FROM_BOTH: MemberOptions = {
  redisProxy: true,
  clientProxy: true,
  env: {
    HOLDFAST_KEEPALIVE_TIME: '500ms',
    HOLDFAST_KEEPALIVE_TIMEOUT: '500ms',
    HOLDFAST_DRAIN_TIMEOUT: '1s',
  },
};

/**
 * Server 0 stays up, and takes over. Each scenario of a group disturbs another server. The last group ends the servers, so
 * the groups use the same ones, one after the other.
 */
let fleet: Fleet;

beforeAll(async () => {
  fleet = await Fleet.start({ members: [{}, CUT_OFF, CUT_OFF, CUT_OFF_FROM_BOTH, CUT_OFF_FROM_BOTH] });
});

afterAll(() => fleet?.close());

describe('take over', () => {
  interface Opened {
    readonly name: string;
    readonly stream: RecordedStream;
    readonly held: Held;
  }

  async function holdAt(scenario: Scenario, member: Member, ttlMs: number): Promise<Opened> {
    const name = scenario.lock('lock');
    const stream = scenario.client('before', member).hold({ name, ttlMs });
    const held = await stream.granted();
    scenario.observer.watchLease(held);
    await stream.more('renewed');
    return { name, stream, held };
  }

  /** Attaches the holder's next stream at server 0, and expects the same lease and token. */
  async function takeOver(scenario: Scenario, held: Held): Promise<RecordedStream> {
    const stream = scenario.client('after', fleet.member(0)).attach(held);
    expect((await stream.granted()).token).toBe(held.token);
    return stream;
  }

  /** Releases the lease, and lets another client hold the lock for some renewals. */
  async function passOn(scenario: Scenario, { name, held }: Opened, heal: () => void): Promise<void> {
    await scenario.client('releaser', fleet.member(0)).release(held);
    const carl = scenario.client('carl', fleet.member(0));
    const stream = carl.hold({ name, ttlMs: 1500 });
    const next = await stream.granted();
    scenario.observer.watchLease(next);
    heal();
    await stream.more('renewed', 4);
    expect(new Set(stream.kinds)).toEqual(new Set(['granted', 'renewed']));
    expect((await carl.release(next)).released).toBe(true);
  }

  test.concurrent('a server that was cut off from Redis ends its superseded stream with SUPERSEDED', () =>
    runScenario({ fleet, title: 'cut off from redis for a while' }, async (scenario) => {
      const member = fleet.member(1);
      const opened = await holdAt(scenario, member, 4000);
      const end = scenario.fault('link_cut', 'black hole between server and Redis');
      member.redisProxy.blackHole('both');
      const after = await takeOver(scenario, opened.held);
      await opened.stream.more('renewalFailed');
      expect(opened.stream.ending).toBeUndefined();
      // The delayed renewals of the cut-off server arrive now.
      member.redisProxy.passEverything();
      end();
      expect(await opened.stream.ended).toMatchObject({ code: 'ABORTED', reason: 'SUPERSEDED' });
      expect(opened.stream.kinds).not.toContain('lost');
      await after.more('renewed', 2);
      await scenario.client('releaser', fleet.member(0)).release(opened.held);
      expect((await after.ended).code).toBe('OK');
    }),
  );

  // The cut-off server must report the loss of its lease, although another server has taken the lease over.
  const withoutFalseLoss = INVARIANTS.filter((invariant) => invariant !== 'false_loss');

  test.concurrent(
    'late commands of a cut-off server that has reported LOST do not harm the lease that was taken over',
    () =>
      runScenario(
        { fleet, title: 'cut off from redis past the end', only: withoutFalseLoss },
        async (scenario) => {
          const member = fleet.member(2);
          const opened = await holdAt(scenario, member, 2000);
          const end = scenario.fault('link_cut', 'black hole between server and Redis');
          member.redisProxy.blackHole('both');
          const after = await takeOver(scenario, opened.held);
          expect(await opened.stream.ended).toMatchObject({ code: 'ABORTED', reason: 'LEASE_LOST' });
          expect(opened.stream.lossCause).toBe('STORE_UNAVAILABLE');
          // The delayed renewals and the release after the loss arrive now.
          member.redisProxy.passEverything();
          end();
          await after.more('renewed', 4);
          expect(new Set(after.kinds)).toEqual(new Set(['granted', 'renewed']));
          await scenario.client('releaser', fleet.member(0)).release(opened.held);
          expect((await after.ended).code).toBe('OK');
        },
      ),
  );

  test.concurrent(
    "late commands of a server cut off from Redis and its client do not free another client's lease",
    () =>
      runScenario({ fleet, title: 'cut off from both' }, async (scenario) => {
        const member = fleet.member(3);
        const opened = await holdAt(scenario, member, 1500);
        const end = scenario.fault('link_cut', 'black holes on both sides of the server');
        member.redisProxy.blackHole('both');
        member.clientProxy.blackHole('both');
        const after = await takeOver(scenario, opened.held);
        await after.more('renewed', 4);
        expect(opened.stream.ending).toBeUndefined();
        await passOn(scenario, opened, () => {
          member.redisProxy.passEverything();
          member.clientProxy.passEverything();
          end();
        });
        expect((await after.ended).code).toBe('OK');
        expect((await opened.stream.ended).code).not.toBe('OK');
      }),
  );

  test.concurrent(
    'a server cut off from its client stops renewing once another stream has taken the lease over',
    () =>
      runScenario({ fleet, title: 'cut off from the client' }, async (scenario) => {
        const member = fleet.member(4);
        const opened = await holdAt(scenario, member, 1500);
        let renewals = 0;
        const isRenewal = runsOf('renew', opened.held.requestId);
        member.redisProxy.on('command', (command) => {
          if (isRenewal(command)) renewals += 1;
        });
        const end = scenario.fault('link_cut', 'black hole between client and server');
        member.clientProxy.blackHole('both');
        const after = await takeOver(scenario, opened.held);
        const renewedBefore = renewals;
        await after.more('renewed', 3);
        // One renewal may follow the hint that another stream took over. The answer to this renewal is SUPERSEDED.
        expect(renewals - renewedBefore).toBeLessThanOrEqual(1);
        await passOn(scenario, opened, () => {
          member.clientProxy.passEverything();
          end();
        });
        expect((await opened.stream.ended).code).not.toBe('OK');
        expect(opened.stream.kinds).not.toContain('lost');
      }),
  );
});

describe('revoked', () => {
  /** An operator at server 0 revokes the lease with this token, without force. */
  async function revoke(scenario: Scenario, name: string, { token }: Held): Promise<void> {
    const recorder = scenario.recorderOf('operator');
    const client = new LockClient(fleet.member(0).address);
    try {
      recorder.record({ type: 'revoke_asked', name, tokens: [Number(token)], force: false });
      const target = { $case: 'fencingToken', value: token } as const;
      expect((await client.revoke({ name, target })).revokedCount).toBe(1);
      recorder.record({ type: 'revoke_answered', name, token: Number(token) });
    } finally {
      client.close();
    }
  }

  test.concurrent.each([
    ['is paused', 'server_stopped', 1],
    ['cannot reach Redis', 'link_cut', 2],
  ] as const)(
    'the next holder waits for the end of a revoked lease while its server %s',
    (what, fault, index) =>
      runScenario({ fleet, title: what }, async (scenario) => {
        const [other, cut] = [fleet.member(0), fleet.member(index)];
        const name = scenario.lock('revoked');
        const alice = scenario.client('alice', cut);
        const stream = alice.hold({ name, ttlMs: 4000 });
        const held = await stream.granted();
        scenario.observer.watchLease(held);
        const line = new WaiterLine(scenario, name, other);
        await line.join('bob', other);
        await stream.more('renewed');

        const end = scenario.fault(fault, what);
        if (fault === 'server_stopped') cut.server.stop();
        else cut.redisProxy.blackHole('both');
        await sleep(100);
        await revoke(scenario, name, held);
        await line.served();
        expect(monotonicMicros()).toBeGreaterThan(stream.deadline);
        if (fault === 'server_stopped') cut.server.cont();
        else cut.redisProxy.passEverything();
        end();
        expect(await stream.ended).toMatchObject({ code: 'ABORTED', reason: 'LEASE_LOST' });
      }),
  );

  test.concurrent(
    'a stream whose hint is lost learns of the revocation by its next renewal, and is not renewed',
    () =>
      runScenario({ fleet, title: 'hint lost' }, async (scenario) => {
        const name = scenario.lock('hint');
        const alice = scenario.client('alice', fleet.member(0));
        const stream = alice.hold({ name, ttlMs: 3000 });
        const held = await stream.granted();
        const end = scenario.fault('connections_killed', 'CLIENT KILL TYPE pubsub');
        await fleet.redis.command('CLIENT', 'KILL', 'TYPE', 'pubsub');
        await revoke(scenario, name, held);
        end();
        expect(await stream.ended).toMatchObject({
          code: 'ABORTED',
          reason: 'LEASE_LOST',
          metadata: { cause: 'REVOKED' },
        });
        // The holder may release its lease, and frees the lock before its end.
        await alice.release(held);
      }),
  );
});

describe('a drain', () => {
  test.concurrent(
    'SIGTERM renews leases once more, ends all calls with DRAINING, keeps places, and exits with 0',
    () =>
      runScenario({ fleet, title: 'drained' }, async (scenario) => {
        const [survivor, leaving] = [fleet.member(0), fleet.member(1)];
        const [streamed, queue] = [scenario.lock('streamed'), scenario.lock('queue')];
        const alice = scenario.client('alice', leaving);
        const stream = alice.hold({ name: streamed, ttlMs: 4000 });
        const held = await stream.granted();
        const hank = scenario.client('hank', survivor);
        const first = await hank.hold({ name: queue, ttlMs: 3000 }).granted();
        for (const lease of [held, first]) scenario.observer.watchLease(lease);
        const waiters = ['w1', 'w2'].map((label) => scenario.client(label, leaving));
        const requests = waiters.map(() => ({ name: queue, ttlMs: 3000, requestId: randomUUID() }));
        const [w1, w2] = waiters as [(typeof waiters)[0], (typeof waiters)[0]];
        const [r1, r2] = requests as [(typeof requests)[0], (typeof requests)[0]];
        const waiting = w1.hold(r1);
        await waiting.queued();
        const unary = w2.acquire(r2).catch((error: unknown) => error);
        await scenario.observer.waiterCount(queue, 2);
        const last = scenario.client('w3', survivor);
        const behind = last.hold({ name: queue, ttlMs: 3000 });
        await behind.queued();
        const health = watchHealth(leaving.address);
        await eventually('SERVING', () => health.statuses.includes(ServingStatus.SERVING));

        const end = scenario.fault('draining', 'SIGTERM');
        const before = stream.kinds.length;
        const logged = leaving.server.logs.length;
        const stopwatch = scenario.stopwatch();
        const exit = leaving.server.term();
        const DRAINING = { code: 'UNAVAILABLE', reason: 'DRAINING' };
        const ending = await stream.ended;
        expect(ending).toMatchObject(DRAINING);
        expect(ending.retryAfterMs).toBeGreaterThanOrEqual(0);
        expect(ending.pushback).toMatch(/^\d+$/);
        expect(new Set(stream.kinds.slice(before))).toEqual(new Set(['renewed']));
        expect(await waiting.ended).toMatchObject({ ...DRAINING, pushback: expect.stringMatching(/^\d+$/) });
        const refused = await unary;
        expect(refused).toBeInstanceOf(CallEnded);
        expect((refused as CallEnded).ending).toMatchObject(DRAINING);
        expect((refused as CallEnded).ending.retryAfterMs).toBeGreaterThan(0);
        expect(await exit).toEqual({ code: 0, signal: null });
        expect(stopwatch.chargedMs).toBeLessThan(DRAIN_TIMEOUT_MS / 2);
        await health.ended;
        expect(health.statuses).toEqual([ServingStatus.SERVING, ServingStatus.NOT_SERVING]);
        health.close();
        const warned = leaving.server.logs
          .slice(logged)
          .filter(({ level }) => level !== 'info' && level !== 'debug');
        expect(warned).toEqual([]);
        end();

        for (const client of [alice, w1, w2]) client.moveTo(survivor.address);
        const again = alice.attach(held);
        expect((await again.granted()).token).toBe(held.token);
        const back = w1.hold(r1);
        expect(await back.queued()).toBe(1);
        const backUnary = w2.acquire(r2);
        await scenario.observer.waiterCount(queue, 3);
        await hank.release(first);
        await w1.release(await back.granted());
        await w2.release(await backUnary);
        await last.release(await behind.granted());
        await again.more('renewed');
        await alice.release(held);
        const tokens = [first, back.held, await backUnary, behind.held].map((lease) => lease?.token ?? 0n);
        expect(tokens).toEqual([...tokens].sort((a, b) => (a < b ? -1 : 1)));
      }),
  );

  test.concurrent('a second SIGTERM ends a hanging drain immediately, and does not end the lease', () =>
    runScenario({ fleet, title: 'forced' }, async (scenario) => {
      const [survivor, leaving] = [fleet.member(0), fleet.member(2)];
      const name = scenario.lock('lock');
      const alice = scenario.client('alice', leaving);
      const stream = alice.hold({ name, ttlMs: 4000 });
      const held = await stream.granted();
      scenario.observer.watchLease(held);
      leaving.redisProxy.blackHole('both');
      const end = scenario.fault('draining', 'SIGTERM while Redis does not answer');
      leaving.server.signal('SIGTERM');
      await leaving.server.logLine('draining', ({ msg }) => msg === 'draining');
      expect(leaving.server.exit).toBeUndefined();
      leaving.isForced = true;
      const stopwatch = scenario.stopwatch();
      expect(await leaving.server.term()).toEqual({ code: 143, signal: null });
      expect(stopwatch.chargedMs).toBeLessThan(1500);
      expect((await stream.ended).code).toBe('UNAVAILABLE');
      end();
      alice.moveTo(survivor.address);
      const again = alice.attach(held);
      expect((await again.granted()).token).toBe(held.token);
      await alice.release(held);
      expect((await again.ended).code).toBe('OK');
    }),
  );

  test.concurrent(
    'a draining server cuts the connection of a client that does not answer within the drain timeout',
    () =>
      runScenario({ fleet, title: 'cut' }, async (scenario) => {
        const [survivor, leaving] = [fleet.member(0), fleet.member(3)];
        const name = scenario.lock('lock');
        const alice = scenario.client('alice', leaving);
        const stream = alice.hold({ name, ttlMs: 4000 });
        const held = await stream.granted();
        const end = scenario.fault('link_cut', 'black hole between client and server');
        leaving.clientProxy.blackHole('both');
        const stopwatch = scenario.stopwatch();
        expect(await leaving.server.term()).toEqual({ code: 0, signal: null });
        expect(stopwatch.elapsedMs).toBeGreaterThan(950);
        expect(stopwatch.chargedMs).toBeLessThan(3000);
        leaving.clientProxy.passEverything();
        end();
        expect((await stream.ended).code).toBe('UNAVAILABLE');
        alice.moveTo(survivor.address);
        expect((await alice.renew(held)).token).toBe(held.token);
        await alice.release(held);
      }),
  );
});
