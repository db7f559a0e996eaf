import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RedisCommand } from '../support/proxy/tcp-proxy';
import { Fleet } from './fleet';
import { WaiterLine } from './waiter-line';
import { runScenario } from './scenario';
import { runsOf } from './script-commands';

/** Server 0 stays up. Each scenario stops another server. */
let fleet: Fleet;

beforeAll(async () => {
  fleet = await Fleet.start({ members: [{}, {}, { redisProxy: true }] });
});

afterAll(() => fleet?.close());

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
      const [other, paused] = [fleet.member(0), fleet.member(2)];
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
        await scenario.observer.waitFor(name, `${name} to be free`, ({ holders }) => holders.length === 0);
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
