import { setTimeout as sleep } from 'node:timers/promises';
import { Fleet } from './fleet';
import { runScenario } from './scenario';

/** Server 0 runs all the time. The test pauses server 1. */
let fleet: Fleet;

beforeAll(async () => {
  fleet = await Fleet.start({ members: [{}, {}] });
});

afterAll(() => fleet?.close());

test('a server paused for three ttls ends its streams with LEASE_LOST and delivers no late grant (chapter 13)', () =>
  runScenario({ fleet, title: 'paused for three ttls' }, async (scenario) => {
    const [other, paused] = [fleet.member(0), fleet.member(1)];
    const [left, blocked] = [scenario.lock('left'), scenario.lock('head paused')];
    const alice = scenario.client('alice', paused);
    const streams = [left, blocked].map((name) => alice.hold({ name, ttlMs: 2000 }));
    for (const stream of streams) scenario.observer.watchLease(await stream.granted());

    const bob = scenario.client('bob', other);
    const bobHolds = bob.hold({ name: left, ttlMs: 2000 });
    await bobHolds.queued();
    const carol = scenario.client('carol', paused);
    const carolHolds = carol.hold({ name: left, ttlMs: 2000 });
    await carolHolds.queued();
    // The head of this queue waits at the paused server.
    const carolFirst = carol.hold({ name: blocked, ttlMs: 2000 });
    await carolFirst.queued();
    const bobSecond = bob.hold({ name: blocked, ttlMs: 2000 });
    await bobSecond.queued();

    const end = scenario.fault('server_stopped', 'three ttls');
    paused.server.stop();
    const bobHeld = await bobHolds.granted();
    // The offer to the head lapses, and then the next waiter is granted.
    const secondHeld = await bobSecond.granted();
    await sleep(500);
    const before = streams.map((stream) => stream.kinds.length);
    paused.server.cont();
    end();

    for (const [index, stream] of streams.entries()) {
      expect(await stream.ended).toMatchObject({ code: 'ABORTED', reason: 'LEASE_LOST' });
      expect(stream.kinds.slice(before[index])).toEqual(['lost']);
    }
    await Promise.all([bobHolds.more('renewed', 2), bobSecond.more('renewed', 2)]);
    expect([carolHolds.held, carolFirst.held]).toEqual([undefined, undefined]);
    await Promise.all([bob.release(bobHeld), bob.release(secondHeld)]);
    for (const stream of [carolHolds, carolFirst]) await carol.release(await stream.granted());
  }));
