import { setTimeout as sleep } from 'node:timers/promises';
import { Fleet } from './fleet';
import { Line } from './line';
import { story } from './scenario';

/** Servers 1 and 2 are stopped, each in a story of its own; server 0 stays. */
let fleet: Fleet;

beforeAll(async () => {
  fleet = await Fleet.start({ members: [{}, {}, {}] });
});

afterAll(() => fleet?.close());

test.concurrent('a server stopped for half a ttl: its lease lives on, and nobody else gets it', () =>
  story({ fleet, title: 'stopped for half a ttl' }, async (scene) => {
    const [other, stopped] = [fleet.member(0), fleet.member(1)];
    const name = scene.lock('held');
    const alice = scene.client('alice', stopped);
    const stream = alice.hold({ name, ttlMs: 3000 });
    const held = await stream.granted();
    scene.observer.watchLease(held);
    const line = new Line(scene, name, other);
    await line.join('bob', other);
    await stream.more('renewed');

    const end = scene.fault('server_stopped', 'half a ttl');
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

test.concurrent('a server stopped for three ttls: belief ends by the deadline, and nothing comes late', () =>
  story({ fleet, title: 'stopped for three ttls' }, async (scene) => {
    const [other, stopped] = [fleet.member(0), fleet.member(2)];
    const [left, blocked] = [scene.lock('left'), scene.lock('head stopped')];
    const alice = scene.client('alice', stopped);
    const streams = [left, blocked].map((name) => alice.hold({ name, ttlMs: 2000 }));
    for (const stream of streams) scene.observer.watchLease(await stream.granted());

    const bob = scene.client('bob', other);
    const bobHolds = bob.hold({ name: left, ttlMs: 2000 });
    await bobHolds.queued();
    const carol = scene.client('carol', stopped);
    const carolHolds = carol.hold({ name: left, ttlMs: 2000 });
    await carolHolds.queued();
    // Here the head of the queue is the stopped server's.
    const carolFirst = carol.hold({ name: blocked, ttlMs: 2000 });
    await carolFirst.queued();
    const bobSecond = bob.hold({ name: blocked, ttlMs: 2000 });
    await bobSecond.queued();

    const end = scene.fault('server_stopped', 'three ttls');
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
