import { monotonicMicros } from '../support/history-recorder';
import { ClientProcess } from './client-process';
import { Fleet } from './fleet';
import type { RecordedStream } from './recorded-stream';
import { runScenario, type Scenario } from './scenario';

const TTL_MS = 2000;
const KEEPALIVE_MS = 500;
/** By the contract 250 ms; the rest is for a busy machine. */
const RECOVERY_MS = 250 + 500;
const CHECKS = { keepAliveUs: 2 * KEEPALIVE_MS * 1000 };

let fleet: Fleet;

beforeAll(async () => {
  const env = {
    HOLDFAST_KEEPALIVE_TIME: `${KEEPALIVE_MS}ms`,
    HOLDFAST_KEEPALIVE_TIMEOUT: `${KEEPALIVE_MS}ms`,
  };
  fleet = await Fleet.start({ members: [{ env }, { env }, { env, clientProxy: true }] });
});

afterAll(() => fleet?.close());

/** Somebody waits behind, at another server. */
async function waitBehind(scenario: Scenario, name: string): Promise<RecordedStream> {
  const stream = scenario.client('next', fleet.member(1)).hold({ name, ttlMs: TTL_MS });
  await stream.queued();
  return stream;
}

/** The next one is granted, no earlier than the other's deadline and little later than it may have been renewed to. */
async function expectRecovery(
  scenario: Scenario,
  next: RecordedStream,
  deadline: number,
  latest: number,
): Promise<void> {
  const held = await next.granted();
  const now = monotonicMicros();
  expect(now).toBeGreaterThan(deadline);
  expect((now - latest) / 1000).toBeLessThan(RECOVERY_MS);
  await scenario.client('releaser', fleet.member(0)).release(held);
}

test.concurrent('a killed holder of a unary lease delays the next by the rest of its ttl (chapter 14)', () =>
  runScenario({ fleet, title: 'killed unary holder', ...CHECKS }, async (scenario) => {
    const name = scenario.lock('lock');
    const { address } = fleet.member(0);
    const task = { client: 'victim of unary', address, call: 'acquire', name, ttlMs: TTL_MS } as const;
    const victim = await ClientProcess.start(scenario, task);
    const { at, deadline } = await victim.said('granted');
    const next = await waitBehind(scenario, name);
    victim.kill();
    await expectRecovery(scenario, next, deadline, at + TTL_MS * 1000);
  }),
);

test.concurrent(
  'a killed holder of a stream delays the next by a ttl: its connection is closed with it',
  () =>
    runScenario({ fleet, title: 'killed stream holder', ...CHECKS }, async (scenario) => {
      const name = scenario.lock('lock');
      const { address } = fleet.member(0);
      const task = { client: 'victim of stream', address, call: 'hold', name, ttlMs: TTL_MS } as const;
      const victim = await ClientProcess.start(scenario, task);
      await victim.said('renewed');
      const next = await waitBehind(scenario, name);
      victim.kill();
      const killedAt = monotonicMicros();
      await next.granted();
      const renewals = victim.events().filter((event) => event.type === 'renewed');
      await expectRecovery(scenario, next, renewals.at(-1)?.deadline ?? NaN, killedAt + TTL_MS * 1000);
    }),
);

test.concurrent(
  'a stopped holder of a stream delays the next by keep-alive and ttl, and believes no longer',
  () =>
    runScenario({ fleet, title: 'stopped stream holder', ...CHECKS }, async (scenario) => {
      const name = scenario.lock('lock');
      const { address } = fleet.member(0);
      const task = { client: 'stopped one', address, call: 'hold', name, ttlMs: TTL_MS } as const;
      const victim = await ClientProcess.start(scenario, task);
      await victim.said('renewed');
      const next = await waitBehind(scenario, name);
      const resume = victim.stop();
      const stoppedAt = monotonicMicros();
      const held = await next.granted();
      expect((monotonicMicros() - stoppedAt) / 1000).toBeLessThan(2 * KEEPALIVE_MS + TTL_MS + RECOVERY_MS);
      await next.more('renewed');
      resume();
      const { code } = await victim.said('ended');
      expect(code).not.toBe('OK');
      await scenario.client('releaser', fleet.member(0)).release(held);
    }),
);

test.concurrent('a client whose connection falls silent is noticed by keep-alive', () =>
  runScenario({ fleet, title: 'silent stream holder', ...CHECKS }, async (scenario) => {
    const name = scenario.lock('lock');
    const { clientProxy } = fleet.member(2);
    const silent = scenario.client('silent', fleet.member(2));
    const stream = silent.hold({ name, ttlMs: TTL_MS });
    await stream.granted();
    await stream.more('renewed');
    const next = scenario.client('next', fleet.member(0)).hold({ name, ttlMs: TTL_MS });
    await next.queued();
    const end = scenario.fault('link_cut', 'black hole between client and server', {
      clients: [silent.name],
    });
    clientProxy.blackHole('both');
    const cutAt = monotonicMicros();
    const held = await next.granted();
    expect(monotonicMicros()).toBeGreaterThan(stream.deadline);
    expect((monotonicMicros() - cutAt) / 1000).toBeLessThan(2 * KEEPALIVE_MS + TTL_MS + RECOVERY_MS);
    clientProxy.passEverything();
    end();
    await stream.ended;
    await scenario.client('releaser', fleet.member(0)).release(held);
  }),
);

test.concurrent.each(['acquire', 'hold'] as const)(
  'a killed waiter (%s) is skipped, and holds nothing',
  (call) =>
    runScenario({ fleet, title: `killed waiter by ${call}`, ...CHECKS }, async (scenario) => {
      const name = scenario.lock('lock');
      const holder = scenario.client('holder', fleet.member(0));
      const first = await holder.hold({ name, ttlMs: TTL_MS }).granted();
      const { address } = fleet.member(0);
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
      const released = performance.now();
      await holder.release(first);
      const held = await next.granted();
      expect(performance.now() - released).toBeLessThan(RECOVERY_MS);
      await scenario.client('releaser', fleet.member(0)).release(held);
    }),
);
