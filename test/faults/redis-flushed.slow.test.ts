import { setTimeout as sleep } from 'node:timers/promises';
import { Fleet } from './fleet';
import { CallEnded } from './held';
import { WaiterLine } from './waiter-line';
import { runScenario } from './scenario';
import { endQuarantine, serverInfo } from '../support/clients/calls';

const TTL_MS = 3000;
/** The sum of the longest ttl, the bound of a replica's lag (10 s), and 5 s. */
const QUARANTINE_MS = TTL_MS + 15_000;
const env = { HOLDFAST_MAX_TTL: `${TTL_MS}ms`, HOLDFAST_DEFAULT_TTL: `${TTL_MS}ms` };

let fleet: Fleet;

beforeAll(async () => {
  fleet = await Fleet.start({ members: [{ env }, { env }] });
});

afterAll(() => fleet?.close());

test('after FLUSHALL, holders get STORE_RESET within a renewal interval, grants pause, waiters keep their order and tokens rise', () =>
  runScenario({ fleet, title: 'flushed' }, async (scenario) => {
    const [one, other] = [fleet.member(0), fleet.member(1)];
    const [streamed, unary, queue] = [
      scenario.lock('streamed'),
      scenario.lock('unary'),
      scenario.lock('queue'),
    ];
    const alice = scenario.client('alice', other);
    const stream = alice.hold({ name: streamed, ttlMs: TTL_MS });
    await stream.granted();
    const una = scenario.client('una', other);
    const unaryHeld = await una.acquire({ name: unary, ttlMs: TTL_MS });
    const hank = scenario.client('hank', other);
    const hankHolds = hank.hold({ name: queue, ttlMs: TTL_MS });
    const first = await hankHolds.granted();
    const line = new WaiterLine(scenario, queue, other);
    for (const label of ['w1', 'w2', 'w3', 'w4']) await line.join(label, one);
    const mixed = scenario.lock('mixed queue');
    const ina = scenario.client('ina', other);
    await ina.hold({ name: mixed, ttlMs: TTL_MS }).granted();
    const mixedLine = new WaiterLine(scenario, mixed, other, 1500);
    for (const [index, label] of ['m1', 'm2', 'm3', 'm4'].entries()) {
      await mixedLine.join(label, fleet.member(index % 2));
    }
    await stream.more('renewed');

    const end = scenario.fault('redis_flushed', 'FLUSHALL');
    await fleet.redis.command('FLUSHALL');
    const stopwatch = scenario.stopwatch();

    for (const each of [stream, hankHolds]) {
      expect(await each.ended).toMatchObject({
        code: 'ABORTED',
        reason: 'LEASE_LOST',
        metadata: { cause: 'STORE_RESET' },
      });
      expect(each.kinds.at(-1)).toBe('lost');
      expect(stopwatch.chargedMs).toBeLessThan(TTL_MS / 3 + 750);
    }
    const gone: unknown = await una.renew(unaryHeld).catch((error: unknown) => error);
    expect(gone).toBeInstanceOf(CallEnded);
    expect((gone as CallEnded).ending).toMatchObject({ code: 'NOT_FOUND', reason: 'LEASE_NOT_HELD' });
    expect(await una.release(unaryHeld)).toEqual({ released: false, cause: 'UNKNOWN' });

    // Another server may have answered a renewal of Una a moment ago, so grants pause for all names.
    for (const member of [one, other]) {
      const late = scenario.client(`late at ${member.address}`, member);
      const refused: unknown = await late
        .acquire({ name: streamed, ttlMs: TTL_MS })
        .catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(CallEnded);
      const { ending } = refused as CallEnded;
      expect(ending).toMatchObject({ code: 'UNAVAILABLE', reason: 'QUARANTINED' });
      expect(ending.retryAfterMs).toBeGreaterThan(QUARANTINE_MS / 2);
      expect(ending.retryAfterMs).toBeLessThanOrEqual(QUARANTINE_MS);
      expect((await serverInfo(member.address)).quarantine).toBeDefined();
    }
    await sleep(Math.max(0, TTL_MS + 500 - stopwatch.elapsedMs));
    expect([...line.order, ...mixedLine.order]).toEqual([]);
    // Every lease from before the flush has ended, so the operator may end the quarantine.
    const { endedQuarantine, risk } = await endQuarantine(one.address, 'every holder has stopped');
    expect(endedQuarantine).toBeDefined();
    expect(risk).toMatch(/two holders/);
    end();

    await line.served();
    expect(line.order).toEqual(['w1', 'w2', 'w3', 'w4']);
    // The first server that touches gets the first grant. By then all other waiters have their own tickets again.
    await mixedLine.served();
    const [firstServed, ...others] = mixedLine.order;
    expect(['m1', 'm2']).toContain(firstServed);
    expect(others).toEqual(['m1', 'm2', 'm3', 'm4'].filter((label) => label !== firstServed));
    const after = await alice.acquire({ name: streamed, ttlMs: TTL_MS });
    expect(after.token).toBeGreaterThan(stream.held?.token ?? 0n);
    const onQueue = await hank.acquire({ name: queue, ttlMs: TTL_MS });
    expect(onQueue.token).toBeGreaterThan(first.token);
    await Promise.all([alice.release(after), hank.release(onQueue)]);
  }));
