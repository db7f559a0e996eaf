import { randomUUID } from 'node:crypto';
import { Fleet } from './fleet';
import { CallEnded } from './held';
import { runScenario } from './scenario';

const AGE_MS = 1000;
const REATTACH = { code: 'UNAVAILABLE', reason: 'REATTACH' };

let fleet: Fleet;

beforeAll(async () => {
  const aging = { env: { HOLDFAST_STREAM_MAX_AGE: `${AGE_MS}ms` } };
  fleet = await Fleet.start({ members: [aging, aging] });
});

afterAll(() => fleet?.close());

test.concurrent(
  'a holding stream at its maximum age is renewed once more and ends with REATTACH, and the next stream has the same lease',
  () =>
    runScenario({ fleet, title: 'holding' }, async (scenario) => {
      const name = scenario.lock('lock');
      const client = scenario.client('client', fleet.member(0));
      let stream = client.hold({ name, ttlMs: 12_000 });
      const held = await stream.granted();
      scenario.observer.watchLease(held);
      for (let round = 1; round <= 2; round += 1) {
        const stopwatch = scenario.stopwatch();
        const ending = await stream.ended;
        expect(ending).toMatchObject(REATTACH);
        expect(ending.pushback).toMatch(/^\d+$/);
        expect(stopwatch.chargedMs).toBeLessThan(AGE_MS + 750);
        // The regular renewal is not due yet, so this renewal is the last renewal before the end of the stream.
        expect(stream.kinds).toEqual(['granted', 'renewed']);
        const { deadline } = stream;
        client.moveTo(fleet.member(round % 2).address);
        stream = client.attach(held);
        const again = await stream.granted();
        expect(again.token).toBe(held.token);
        expect(again.deadline).toBeGreaterThan(deadline);
      }
      await client.release(held);
      expect((await stream.ended).code).toBe('OK');
    }),
);

test.concurrent(
  'a waiting stream at its maximum age ends with REATTACH, and its request_id keeps the place',
  () =>
    runScenario({ fleet, title: 'waiting' }, async (scenario) => {
      const name = scenario.lock('lock');
      const holder = scenario.client('holder', fleet.member(0));
      const first = await holder.acquire({ name, ttlMs: 20_000 });
      const client = scenario.client('client', fleet.member(0));
      const request = { name, ttlMs: 3000, requestId: randomUUID() };
      const aging = client.hold(request);
      expect(await aging.queued()).toBe(1);
      const stopwatch = scenario.stopwatch();
      const behind = scenario.client('behind', fleet.member(1));
      const patient = { name, ttlMs: 3000, requestId: randomUUID() };
      const behindAging = behind.hold(patient);
      expect(await behindAging.queued()).toBe(2);

      expect(await aging.ended).toMatchObject(REATTACH);
      expect(stopwatch.elapsedMs).toBeGreaterThan(AGE_MS * 0.9 - 100);
      expect(stopwatch.chargedMs).toBeLessThan(AGE_MS + 750);
      expect(aging.held).toBeUndefined();
      client.moveTo(fleet.member(1).address);
      const again = client.hold(request);
      expect(await again.queued()).toBe(1);
      expect(await behindAging.ended).toMatchObject(REATTACH);
      const behindAgain = behind.hold(patient);
      expect(await behindAgain.queued()).toBe(2);
      await holder.release(first);
      await client.release(await again.granted());
      await behind.release(await behindAgain.granted());
    }),
);

test.concurrent('a unary wait without a deadline ends with CONTENDED at the maximum age', () =>
  runScenario({ fleet, title: 'unary' }, async (scenario) => {
    const name = scenario.lock('lock');
    const holder = scenario.client('holder', fleet.member(0));
    const first = await holder.acquire({ name, ttlMs: 20_000 });
    const stopwatch = scenario.stopwatch();
    const refused: unknown = await scenario
      .client('client', fleet.member(1))
      .acquire({ name, ttlMs: 3000 })
      .catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(CallEnded);
    expect((refused as CallEnded).ending).toMatchObject({ code: 'ABORTED', reason: 'CONTENDED' });
    expect(stopwatch.elapsedMs).toBeGreaterThan(AGE_MS * 0.9 - 100);
    expect(stopwatch.chargedMs).toBeLessThan(AGE_MS + 750);
    await holder.release(first);
  }),
);
