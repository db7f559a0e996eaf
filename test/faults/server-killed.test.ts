import { Fleet } from './fleet';
import { WaiterLine } from './waiter-line';
import { runScenario } from './scenario';
import { neighbourOf, runsOf } from './script-commands';

/** Server 0 stays up. Each scenario kills another server. */
let fleet: Fleet;

beforeAll(async () => {
  fleet = await Fleet.start({ members: [{}, {}, {}, { redisProxy: true }, { redisProxy: true }] });
});

afterAll(() => fleet?.close());

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
      const unaryHeld = await una.acquire({ name: unary, ttlMs: 3000 });
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
      expect(scenario.history().some((event) => event.type === 'granted' && event.token === offered)).toBe(
        true,
      );
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
