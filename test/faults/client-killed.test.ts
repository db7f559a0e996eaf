import { monotonicMicros } from '../support/history-recorder';
import { ClientProcess } from './client-process';
import { Fleet } from './fleet';
import type { RecordedStream } from './recorded-stream';
import { runScenario, type Scenario } from './scenario';
import type { Stopwatch } from '../support/stopwatch';

const TTL_MS = 2000;
const KEEPALIVE_MS = 500;
/** The bound of the next grant: 250 ms by the contract, and the delays of messages. */
const RECOVERY_MS = 250 + 500;
const CHECKS = { keepAliveUs: 2 * KEEPALIVE_MS * 1000 };

let fleet: Fleet;

beforeAll(async () => {
  const env = {
    HOLDFAST_KEEPALIVE_TIME: `${KEEPALIVE_MS}ms`,
    HOLDFAST_KEEPALIVE_TIMEOUT: `${KEEPALIVE_MS}ms`,
  };
  fleet = await Fleet.start({ members: [{ env }, { env }] });
});

afterAll(() => fleet?.close());

/** Queues a waiter at another server. */
async function waitBehind(scenario: Scenario, name: string): Promise<RecordedStream> {
  const stream = scenario.client('next', fleet.member(1)).hold({ name, ttlMs: TTL_MS });
  await stream.queued();
  return stream;
}

/**
 * Expects the next grant after the dead holder's deadline, and within the recovery time after `endMs` of the stopwatch.
 */
async function expectRecovery(
  scenario: Scenario,
  next: RecordedStream,
  deadline: number,
  [stopwatch, endMs]: readonly [Stopwatch, number],
): Promise<void> {
  const held = await next.granted();
  expect(monotonicMicros()).toBeGreaterThan(deadline);
  expect(stopwatch.chargedMs - endMs).toBeLessThan(RECOVERY_MS);
  await scenario.client('releaser', fleet.member(0)).release(held);
}

test.concurrent(
  'the next waiter gets the lock when the ttl of a killed unary holder is over (chapter 14)',
  () =>
    runScenario({ fleet, title: 'killed unary holder', ...CHECKS }, async (scenario) => {
      const name = scenario.lock('lock');
      const { address } = fleet.member(0);
      const task = { client: 'victim of unary', address, call: 'acquire', name, ttlMs: TTL_MS } as const;
      const victim = await ClientProcess.start(scenario, task);
      const { at, deadline } = await victim.said('granted');
      const stopwatch = scenario.stopwatch();
      const endMs = TTL_MS - (monotonicMicros() - at) / 1000;
      const next = await waitBehind(scenario, name);
      victim.kill();
      await expectRecovery(scenario, next, deadline, [stopwatch, endMs]);
    }),
);

test.concurrent('the next waiter gets the lock within a ttl of the kill of a streaming holder', () =>
  runScenario({ fleet, title: 'killed stream holder', ...CHECKS }, async (scenario) => {
    const name = scenario.lock('lock');
    const { address } = fleet.member(0);
    const task = { client: 'victim of stream', address, call: 'hold', name, ttlMs: TTL_MS } as const;
    const victim = await ClientProcess.start(scenario, task);
    await victim.said('renewed');
    const next = await waitBehind(scenario, name);
    victim.kill();
    const stopwatch = scenario.stopwatch();
    await next.granted();
    const renewals = victim.events().filter((event) => event.type === 'renewed');
    await expectRecovery(scenario, next, renewals.at(-1)?.deadline ?? NaN, [stopwatch, TTL_MS]);
  }),
);

test.concurrent.each(['acquire', 'hold'] as const)(
  'the queue skips a waiter that is killed during its %s call',
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
      const stopwatch = scenario.stopwatch();
      await holder.release(first);
      const held = await next.granted();
      expect(stopwatch.chargedMs).toBeLessThan(RECOVERY_MS);
      await scenario.client('releaser', fleet.member(0)).release(held);
    }),
);
