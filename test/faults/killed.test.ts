import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicMicros } from '../support/history-recorder';
import type { RedisCommand } from '../support/proxy/tcp-proxy';
import type { Stopwatch } from '../support/stopwatch';
import { ClientProcess } from './client-process';
import { Fleet } from './fleet';
import type { RecordedStream } from './recorded-stream';
import { runScenario, type Scenario } from './scenario';
import { neighbourOf, runsOf } from './script-commands';
import { WaiterLine } from './waiter-line';

/**
 * Server 0 stays up. Each scenario of a group stops or kills another server. A busy machine may leave a ping unanswered, so
 * only the server of the killed clients has short keep-alive times.
 */
let fleet: Fleet;
const KEEPALIVE_MS = 500;
/** The server of the killed clients. */
const KEEN = 5;

beforeAll(async () => {
  const env = {
    HOLDFAST_KEEPALIVE_TIME: `${KEEPALIVE_MS}ms`,
    HOLDFAST_KEEPALIVE_TIMEOUT: `${KEEPALIVE_MS}ms`,
  };
  const proxied = { redisProxy: true };
  fleet = await Fleet.start({ members: [{}, {}, {}, proxied, proxied, { env }] });
});

afterAll(() => fleet?.close());

describe('client killed', () => {
  const TTL_MS = 2000;
  /** The bound of the next grant: 250 ms by the contract, and the delays of messages. */
  const RECOVERY_MS = 250 + 500;
  const CHECKS = { keepAliveUs: 2 * KEEPALIVE_MS * 1000 };

  /** Queues a waiter at another server. */
  async function waitBehind(scenario: Scenario, name: string): Promise<RecordedStream> {
    const stream = scenario.client('next', fleet.member(0)).hold({ name, ttlMs: TTL_MS });
    await stream.queued();
    return stream;
  }

  /**
   * Expects the next grant after the dead holder's deadline, and within the recovery time after `endMs` of the stopwatch.
   */
  async function expectRecovery(
    scenario: Scenario,
    next: RecordedStream,
    deadline: number,
    [stopwatch, endMs]: readonly [Stopwatch, number],
  ): Promise<void> {
    const held = await next.granted();
    expect(monotonicMicros()).toBeGreaterThan(deadline);
    expect(stopwatch.chargedMs - endMs).toBeLessThan(RECOVERY_MS);
    await scenario.client('releaser', fleet.member(KEEN)).release(held);
  }

  test.concurrent(
    'the next waiter gets the lock when the ttl of a killed unary holder is over (chapter 14)',
    () =>
      runScenario({ fleet, title: 'killed unary holder', ...CHECKS }, async (scenario) => {
        const name = scenario.lock('lock');
        const { address } = fleet.member(KEEN);
        const task = { client: 'victim of unary', address, call: 'acquire', name, ttlMs: TTL_MS } as const;
        const victim = await ClientProcess.start(scenario, task);
        const { at, deadline } = await victim.said('granted');
        const stopwatch = scenario.stopwatch();
        const endMs = TTL_MS - (monotonicMicros() - at) / 1000;
        const next = await waitBehind(scenario, name);
        victim.kill();
        await expectRecovery(scenario, next, deadline, [stopwatch, endMs]);
      }),
  );

  test.concurrent('the next waiter gets the lock within a ttl of the kill of a streaming holder', () =>
    runScenario({ fleet, title: 'killed stream holder', ...CHECKS }, async (scenario) => {
      const name = scenario.lock('lock');
      const { address } = fleet.member(KEEN);
      const task = { client: 'victim of stream', address, call: 'hold', name, ttlMs: TTL_MS } as const;
      const victim = await ClientProcess.start(scenario, task);
      await victim.said('renewed');
      const next = await waitBehind(scenario, name);
      victim.kill();
      const stopwatch = scenario.stopwatch();
      await next.granted();
      const renewals = victim.events().filter((event) => event.type === 'renewed');
      await expectRecovery(scenario, next, renewals.at(-1)?.deadline ?? NaN, [stopwatch, TTL_MS]);
    }),
  );

  test.concurrent.each(['acquire', 'hold'] as const)(
    'the queue skips a waiter that is killed during its %s call',
    (call) =>
      runScenario({ fleet, title: `killed waiter by ${call}`, ...CHECKS }, async (scenario) => {
        const name = scenario.lock('lock');
        const holder = scenario.client('holder', fleet.member(KEEN));
        const first = await holder.hold({ name, ttlMs: TTL_MS }).granted();
        const { address } = fleet.member(KEEN);
        const victim = await ClientProcess.start(scenario, {
          client: `victim of ${call}`,
          address,
          call,
          name,
          ttlMs: TTL_MS,
        });
        await scenario.observer.waiterCount(name, 1);
        const next = await waitBehind(scenario, name);
        expect(next.positions).toEqual([2]);
        victim.kill();
        await scenario.observer.waiterCount(name, 1);
        const stopwatch = scenario.stopwatch();
        await holder.release(first);
        const held = await next.granted();
        expect(stopwatch.chargedMs).toBeLessThan(RECOVERY_MS);
        await scenario.client('releaser', fleet.member(KEEN)).release(held);
      }),
  );
});

describe('a server', () => {
  describe('stopped', () => {
    test.concurrent('a server paused for half a ttl keeps its lease, and no waiter is granted', () =>
      runScenario({ fleet, title: 'paused for half a ttl' }, async (scenario) => {
        const [other, paused] = [fleet.member(0), fleet.member(1)];
        const name = scenario.lock('held');
        const alice = scenario.client('alice', paused);
        const stream = alice.hold({ name, ttlMs: 3000 });
        const held = await stream.granted();
        scenario.observer.watchLease(held);
        const line = new WaiterLine(scenario, name, other);
        await line.join('bob', other);
        await stream.more('renewed');

        const end = scenario.fault('server_stopped', 'half a ttl');
        paused.server.stop();
        await sleep(1500);
        paused.server.cont();
        end();
        await stream.more('renewed', 2);
        expect(stream.kinds).not.toContain('lost');
        expect(line.order).toEqual([]);
        await alice.release(held);
        await line.served();
        expect((await stream.ended).code).toBe('OK');
      }),
    );

    test.concurrent(
      'a server that was paused before it read its replies reports no expired renewal and no expired grant',
      () =>
        runScenario({ fleet, title: 'paused with unread replies' }, async (scenario) => {
          const [other, paused] = [fleet.member(0), fleet.member(3)];
          const [renewed, claimed] = [scenario.lock('renewed'), scenario.lock('claimed')];
          const alice = scenario.client('alice', paused);
          const holding = alice.hold({ name: renewed, ttlMs: 1500 });
          const held = await holding.granted();
          const hank = scenario.client('hank', other);
          const first = await hank.hold({ name: claimed, ttlMs: 1500 }).granted();
          const carol = scenario.client('carol', paused);
          const requestId = randomUUID();
          const waiting = carol.hold({ name: claimed, ttlMs: 3000, requestId });
          await waiting.queued();
          for (const lease of [held, first]) scenario.observer.watchLease(lease);

          // Redis runs both commands. From the first command on, no reply reaches the server.
          const { redisProxy } = paused;
          const passes = (matches: (command: RedisCommand) => boolean, then: () => void): Promise<void> =>
            new Promise((resolve) => {
              const onCommand = (command: RedisCommand): void => {
                if (!matches(command)) return;
                redisProxy.off('command', onCommand);
                then();
                resolve();
              };
              redisProxy.on('command', onCommand);
            });
          const claims = passes(runsOf('claim', requestId), () => redisProxy.blackHole('toClient'));
          await hank.release(first);
          await claims;
          await passes(runsOf('renew', held.requestId), () => undefined);
          const end = scenario.fault('server_stopped', 'for longer than the ttl, with unread replies');
          paused.server.stop();
          redisProxy.passEverything();
          const [unread] = await scenario.observer.holdersOtherThan(claimed, first.token);
          for (const name of [renewed, claimed]) {
            await scenario.observer.waitFor(
              name,
              `${name} to be free`,
              ({ holders }) => holders.length === 0,
            );
          }
          const before = holding.kinds.length;
          paused.server.cont();
          end();

          expect(await holding.ended).toMatchObject({ code: 'ABORTED', reason: 'LEASE_LOST' });
          expect(holding.kinds.slice(before)).toEqual(['lost']);
          // The lease of the unread reply has expired, so the wait has gone on: the lease that carol gets is a later one.
          const later = await waiting.granted();
          expect(Number(later.token)).toBeGreaterThan(unread as number);
          await carol.release(later);
        }),
    );
  });

  describe('killed', () => {
    test.concurrent(
      'leases and waiters of a killed server continue at another server, with their tokens and places',
      () =>
        runScenario({ fleet, title: 'killed with holders and waiters' }, async (scenario) => {
          const [survivor, victim] = [fleet.member(0), fleet.member(1)];
          const [streamed, unary, queue] = [
            scenario.lock('streamed'),
            scenario.lock('unary'),
            scenario.lock('queue'),
          ];
          const alice = scenario.client('alice', victim);
          const stream = alice.hold({ name: streamed, ttlMs: 3000 });
          const held = await stream.granted();
          const una = scenario.client('una', victim);
          const unaryHeld = await una.acquire({ name: unary, ttlMs: 10_000 });
          const hank = scenario.client('hank', survivor);
          const first = await hank.hold({ name: queue, ttlMs: 3000 }).granted();
          for (const lease of [held, unaryHeld, first]) scenario.observer.watchLease(lease);

          const line = new WaiterLine(scenario, queue, survivor);
          await line.join('w1', victim);
          await line.join('w2', survivor);
          await line.join('w3', victim, 'unary');
          const dead = scenario.client('dead', victim);
          await line.joinedBy(() => dead.hold({ name: queue, ttlMs: 2000 }));
          await line.join('w5', survivor);

          scenario.instant('server_killed', 'one of two servers');
          const stopwatch = scenario.stopwatch();
          await victim.server.kill();

          expect((await stream.ended).code).toBe('UNAVAILABLE');
          alice.moveTo(survivor.address);
          const attached = alice.attach(held);
          expect((await attached.granted()).token).toBe(held.token);
          una.moveTo(survivor.address);
          expect((await una.renew(unaryHeld)).token).toBe(unaryHeld.token);
          await hank.release(first);
          await line.served();
          expect(line.order).toEqual(['w1', 'w2', 'w3', 'w5']);
          // The last waiter is behind a waiter that never came back. The offer of that waiter lapses, or its server counts
          // as dead.
          expect(stopwatch.chargedMs).toBeLessThan(7000);

          await attached.atLeast('renewed', 2);
          await alice.release(held);
          await una.release(unaryHeld);
          expect((await attached.ended).code).toBe('OK');
        }),
    );

    test.concurrent(
      'a waiter claims its offer at another server when its server is killed between offer and claim',
      () =>
        runScenario({ fleet, title: 'killed with an offer' }, async (scenario) => {
          const [survivor, victim] = [fleet.member(0), fleet.member(2)];
          const queue = scenario.lock('queue');
          const hank = scenario.client('hank', survivor);
          const first = await hank.hold({ name: queue, ttlMs: 3000 }).granted();
          const line = new WaiterLine(scenario, queue, survivor);
          await line.join('w1', victim);
          await line.join('w2', victim);
          await line.join('w3', survivor);

          const end = scenario.fault('server_stopped', 'paused before it claims its offer');
          victim.server.stop();
          await hank.release(first);
          const [offered] = await scenario.observer.holdersOtherThan(queue, first.token);
          expect(line.order).toEqual([]);
          await victim.server.kill();
          end();
          scenario.instant('server_killed', 'with an offer that was not claimed');
          const stopwatch = scenario.stopwatch();
          await line.served();
          expect(line.order).toEqual(['w1', 'w2', 'w3']);
          expect(stopwatch.chargedMs).toBeLessThan(2000);
          // The grant has the token of the offer.
          expect(
            scenario.history().some((event) => event.type === 'granted' && event.token === offered),
          ).toBe(true);
        }),
    );

    test.concurrent(
      'a waiter gets its direct grant at another server when its server is killed before the grant arrives',
      () =>
        runScenario({ fleet, title: 'killed with a direct grant' }, async (scenario) => {
          const [survivor, victim] = [fleet.member(0), fleet.member(3)];
          const queue = scenario.lock('queue');
          const hank = scenario.client('hank', victim);
          const first = await hank.hold({ name: queue, ttlMs: 3000 }).granted();
          const line = new WaiterLine(scenario, queue, survivor);
          await line.join('w1', victim);
          await line.join('w2', survivor);

          const lost = victim.redisProxy.dropNextReply(runsOf('release', first.requestId));
          const release = hank.release(first).catch((error: unknown) => error);
          await lost;
          await victim.server.kill();
          scenario.instant('server_killed', 'before it reads the reply with a grant');
          await release;
          await line.served();
          expect(line.order).toEqual(['w1', 'w2']);
        }),
    );

    test.concurrent(
      'leases of one bucket continue at another server when their server is killed while it renews them together',
      () =>
        runScenario({ fleet, title: 'killed with a renewal together' }, async (scenario) => {
          const [survivor, victim] = [fleet.member(0), fleet.member(4)];
          const client = scenario.client('client', victim);
          const name = scenario.lock('lock');
          const streams = [name, neighbourOf(name)].map((one) => client.hold({ name: one, ttlMs: 9000 }));
          const leases = await Promise.all(streams.map((stream) => stream.granted()));
          await victim.redisProxy.dropNextReply(runsOf('renewMany', leases[0]?.requestId));
          scenario.instant('server_killed', 'before it reads the reply to a renewal of two leases');
          await victim.server.kill();
          client.moveTo(survivor.address);
          for (const lease of leases) {
            expect((await client.attach(lease).granted()).token).toBe(lease.token);
            expect((await client.release(lease)).released).toBe(true);
          }
        }),
    );
  });
});
