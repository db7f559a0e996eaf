import { Fleet } from './fleet';
import { WaiterLine } from './waiter-line';
import { runScenario } from './scenario';

/** Servers 1 and 2 are killed, each in a story of its own; server 0 stays. */
let fleet: Fleet;

beforeAll(async () => {
  fleet = await Fleet.start({ members: [{}, {}, {}] });
});

afterAll(() => fleet?.close());

test.concurrent(
  'a killed server: leases are taken up at another one, and waiters keep their places there',
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
      const killedAt = performance.now();
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
      // Behind the one that never came back: an offer that lapses, or the silence of its server.
      expect(performance.now() - killedAt).toBeLessThan(7000);

      await attached.more('renewed', 2);
      await alice.release(held);
      await una.release(unaryHeld);
      expect((await attached.ended).code).toBe('OK');
    }),
);

test.concurrent('a server killed between offer and claim: its waiter takes the offer up elsewhere', () =>
  runScenario({ fleet, title: 'killed with an offer' }, async (scenario) => {
    const [survivor, victim] = [fleet.member(0), fleet.member(2)];
    const queue = scenario.lock('queue');
    const hank = scenario.client('hank', survivor);
    const first = await hank.hold({ name: queue, ttlMs: 3000 }).granted();
    const line = new WaiterLine(scenario, queue, survivor);
    await line.join('w1', victim);
    await line.join('w2', victim);
    await line.join('w3', survivor);

    const end = scenario.fault('server_stopped', 'stopped, so that it claims nothing');
    victim.server.stop();
    await hank.release(first);
    const [offered] = await scenario.observer.holdersOtherThan(queue, first.token);
    expect(line.order).toEqual([]);
    await victim.server.kill();
    end();
    scenario.instant('server_killed', 'with an offer that it had not claimed');
    const killedAt = performance.now();
    await line.served();
    expect(line.order).toEqual(['w1', 'w2', 'w3']);
    expect(performance.now() - killedAt).toBeLessThan(2000);
    // The very token that was offered was taken up.
    expect(scenario.history().some((event) => event.type === 'granted' && event.token === offered)).toBe(
      true,
    );
  }),
);
