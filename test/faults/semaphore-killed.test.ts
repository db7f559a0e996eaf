import { monotonicMicros } from '../support/history-recorder';
import { ClientProcess } from './client-process';
import { Fleet } from './fleet';
import { WaiterLine } from './waiter-line';
import { runScenario } from './scenario';

/** Server 0 stays up. A test kills server 1. */
let fleet: Fleet;

beforeAll(async () => {
  fleet = await Fleet.start({ members: [{}, {}] });
});

afterAll(() => fleet?.close());

/** The latest deadline that a holder received. */
function lastDeadline(holder: ClientProcess): number {
  return Math.max(...holder.events().map((event) => ('deadline' in event ? event.deadline : 0)));
}

test.concurrent(
  'the permits of a killed holder are free after its own ttl, and the other leases continue',
  () =>
    runScenario({ fleet, title: 'killed holder of permits' }, async (scenario) => {
      const name = await scenario.semaphore('permits', 6);
      const { address } = fleet.member(0);
      const task = { address, service: 'semaphore', call: 'hold', name } as const;
      const victims = await Promise.all([
        ClientProcess.start(scenario, { ...task, client: 'short', ttlMs: 1500, permits: 3 }),
        ClientProcess.start(scenario, { ...task, client: 'long', ttlMs: 3500, permits: 2 }),
      ]);
      await Promise.all(victims.map((victim) => victim.said('granted')));
      const steady = scenario.client('steady', fleet.member(0), 'semaphore');
      const kept = steady.hold({ name, ttlMs: 1500 });
      const keptLease = await kept.granted();
      scenario.observer.watchLease(keptLease);

      const heavy = scenario.client('heavy', fleet.member(0), 'semaphore');
      const first = heavy.hold({ name, ttlMs: 3000, permits: 3 });
      expect(await first.queued()).toBe(1);
      const light = scenario.client('light', fleet.member(0), 'semaphore');
      const second = light.hold({ name, ttlMs: 3000, permits: 2 });
      expect(await second.queued()).toBe(2);
      for (const victim of victims) victim.kill();
      const [short, long] = victims.map(lastDeadline);

      const firstLease = await first.granted();
      expect(monotonicMicros()).toBeGreaterThan(short ?? NaN);
      expect(second.held).toBeUndefined();
      const secondLease = await second.granted();
      expect(monotonicMicros()).toBeGreaterThan(long ?? NaN);
      const seen = await scenario.observer.read(name);
      expect(seen.holders.map((holder) => holder.permitCount).sort()).toEqual([1, 2, 3]);
      expect(kept.wasLost).toBe(false);
      await steady.release(keptLease);
      await heavy.release(firstLease);
      await light.release(secondLease);
    }),
);

test.concurrent(
  'holders move to another server when their server is killed, and waiters for several permits keep their places',
  () =>
    runScenario({ fleet, title: 'killed with permits out' }, async (scenario) => {
      const name = await scenario.semaphore('permits', 4);
      const [survivor, victim] = [fleet.member(0), fleet.member(1)];
      const alice = scenario.client('alice', victim, 'semaphore');
      const stream = alice.hold({ name, ttlMs: 3000, permits: 2 });
      const held = await stream.granted();
      const una = scenario.client('una', survivor, 'semaphore');
      const unaryHeld = await una.acquire({ name, ttlMs: 8000, permits: 2 });
      for (const lease of [held, unaryHeld]) scenario.observer.watchLease(lease);

      const line = new WaiterLine(scenario, name, survivor);
      await line.join('w1 of 3', victim, 'stream', { permits: 3 });
      await line.join('w2 of 1', survivor, 'stream', { permits: 1 });
      await line.join('w3 of 4', victim, 'unary', { permits: 4 });
      const dead = scenario.client('dead', victim, 'semaphore');
      await line.joinedBy(() => dead.hold({ name, ttlMs: 2000, permits: 2 }));
      await line.join('w5 of 3', survivor, 'unary', { permits: 3 });

      scenario.instant('server_killed', 'one of two servers');
      await victim.server.kill();
      expect((await stream.ended).code).toBe('UNAVAILABLE');
      alice.moveTo(survivor.address);
      const attached = alice.attach(held);
      expect((await attached.granted()).token).toBe(held.token);
      // Two of four permits are free, and the head of the queue wants three. No waiter may overtake the head.
      await una.release(unaryHeld);
      await attached.more('renewed', 1);
      expect(line.order).toEqual([]);
      await alice.release(held);
      await line.served();
      expect(line.order).toHaveLength(4);
      expect(line.order.slice(2)).toEqual(['w3 of 4', 'w5 of 3']);
    }),
);
