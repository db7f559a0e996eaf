import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RedisCommand } from '../support/proxy/tcp-proxy';
import { Fleet } from './fleet';
import { WaiterLine } from './waiter-line';
import { runScenario } from './scenario';
import { runsOf } from './script-commands';

/** Servers 1 to 3 are stopped, each in a story of its own; server 0 stays. */
let fleet: Fleet;

beforeAll(async () => {
  fleet = await Fleet.start({ members: [{}, {}, {}, { redisProxy: true }] });
});

afterAll(() => fleet?.close());

test.concurrent('a server stopped for half a ttl: its lease lives on, and nobody else gets it', () =>
  runScenario({ fleet, title: 'stopped for half a ttl' }, async (scenario) => {
    const [other, stopped] = [fleet.member(0), fleet.member(1)];
    const name = scenario.lock('held');
    const alice = scenario.client('alice', stopped);
    const stream = alice.hold({ name, ttlMs: 3000 });
    const held = await stream.granted();
    scenario.observer.watchLease(held);
    const line = new WaiterLine(scenario, name, other);
    await line.join('bob', other);
    await stream.more('renewed');

    const end = scenario.fault('server_stopped', 'half a ttl');
    stopped.server.stop();
    await sleep(1500);
    stopped.server.cont();
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
  'a server stopped for three ttls: belief ends by the deadline, and nothing comes late (chapter 13)',
  () =>
    runScenario({ fleet, title: 'stopped for three ttls' }, async (scenario) => {
      const [other, stopped] = [fleet.member(0), fleet.member(2)];
      const [left, blocked] = [scenario.lock('left'), scenario.lock('head stopped')];
      const alice = scenario.client('alice', stopped);
      const streams = [left, blocked].map((name) => alice.hold({ name, ttlMs: 2000 }));
      for (const stream of streams) scenario.observer.watchLease(await stream.granted());

      const bob = scenario.client('bob', other);
      const bobHolds = bob.hold({ name: left, ttlMs: 2000 });
      await bobHolds.queued();
      const carol = scenario.client('carol', stopped);
      const carolHolds = carol.hold({ name: left, ttlMs: 2000 });
      await carolHolds.queued();
      // Here the head of the queue is the stopped server's.
      const carolFirst = carol.hold({ name: blocked, ttlMs: 2000 });
      await carolFirst.queued();
      const bobSecond = bob.hold({ name: blocked, ttlMs: 2000 });
      await bobSecond.queued();

      const end = scenario.fault('server_stopped', 'three ttls');
      stopped.server.stop();
      const bobHeld = await bobHolds.granted();
      // An offer to the head lapses, then the next one is served.
      const secondHeld = await bobSecond.granted();
      await sleep(500);
      const before = streams.map((stream) => stream.kinds.length);
      stopped.server.cont();
      end();

      for (const [index, stream] of streams.entries()) {
        expect(await stream.ended).toMatchObject({ code: 'ABORTED', reason: 'LEASE_LOST' });
        expect(stream.kinds.slice(before[index])).toEqual(['lost']);
      }
      await Promise.all([bobHolds.more('renewed', 2), bobSecond.more('renewed', 2)]);
      expect([carolHolds.held, carolFirst.held]).toEqual([undefined, undefined]);
      await Promise.all([bob.release(bobHeld), bob.release(secondHeld)]);
      for (const stream of [carolHolds, carolFirst]) await carol.release(await stream.granted());
    }),
);

test.concurrent('a server stopped before it could read a reply tells nobody what is no longer true', () =>
  runScenario({ fleet, title: 'stopped with unread replies' }, async (scenario) => {
    const [other, stopped] = [fleet.member(0), fleet.member(3)];
    const [renewed, claimed] = [scenario.lock('renewed'), scenario.lock('claimed')];
    const alice = scenario.client('alice', stopped);
    const holding = alice.hold({ name: renewed, ttlMs: 1500 });
    const held = await holding.granted();
    const hank = scenario.client('hank', other);
    const first = await hank.hold({ name: claimed, ttlMs: 1500 }).granted();
    const carol = scenario.client('carol', stopped);
    const requestId = randomUUID();
    const waiting = carol.hold({ name: claimed, ttlMs: 1500, requestId });
    await waiting.queued();
    for (const lease of [held, first]) scenario.observer.watchLease(lease);

    // Redis carries out both commands, and from the first one on no reply gets through.
    const { redisProxy } = stopped;
    const passes = (matches: (command: RedisCommand) => boolean, then: () => void): Promise<void> =>
      new Promise((resolve) => {
        const look = (command: RedisCommand): void => {
          if (!matches(command)) return;
          redisProxy.off('command', look);
          then();
          resolve();
        };
        redisProxy.on('command', look);
      });
    const claims = passes(runsOf('claim', requestId), () => redisProxy.blackHole('toClient'));
    await hank.release(first);
    await claims;
    await passes(runsOf('renew', held.requestId), () => undefined);
    const end = scenario.fault('server_stopped', 'three ttls, with replies that it has not read');
    stopped.server.stop();
    redisProxy.passEverything();
    await sleep(4500);
    const before = holding.kinds.length;
    stopped.server.cont();
    end();

    expect(await holding.ended).toMatchObject({ code: 'ABORTED', reason: 'LEASE_LOST' });
    expect(holding.kinds.slice(before)).toEqual(['lost']);
    // Its lease was made and has ended, without its knowledge.
    expect(await waiting.ended).toMatchObject({ code: 'FAILED_PRECONDITION', reason: 'REQUEST_FINISHED' });
    expect(waiting.held).toBeUndefined();
  }),
);
