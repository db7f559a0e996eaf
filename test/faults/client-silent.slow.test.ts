import { monotonicMicros } from '../support/history-recorder';
import { ClientProcess } from './client-process';
import { Fleet } from './fleet';
import { runScenario } from './scenario';

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
  fleet = await Fleet.start({ members: [{ env }, { env }, { env, clientProxy: true }] });
});

afterAll(() => fleet?.close());

test.concurrent(
  'the next waiter gets the lock after keep-alive and ttl when a streaming holder is paused, and the stream of the holder ends',
  () =>
    runScenario({ fleet, title: 'paused stream holder', ...CHECKS }, async (scenario) => {
      const name = scenario.lock('lock');
      const { address } = fleet.member(0);
      const task = { client: 'paused one', address, call: 'hold', name, ttlMs: TTL_MS } as const;
      const victim = await ClientProcess.start(scenario, task);
      await victim.said('renewed');
      const next = scenario.client('next', fleet.member(1)).hold({ name, ttlMs: TTL_MS });
      await next.queued();
      const resume = victim.stop();
      const stopwatch = scenario.stopwatch();
      const held = await next.granted();
      expect(stopwatch.chargedMs).toBeLessThan(2 * KEEPALIVE_MS + TTL_MS + RECOVERY_MS);
      await next.more('renewed');
      resume();
      const { code } = await victim.said('ended');
      expect(code).not.toBe('OK');
      await scenario.client('releaser', fleet.member(0)).release(held);
    }),
);

test.concurrent(
  'the next waiter gets the lock after keep-alive and ttl when the connection of a streaming holder is cut',
  () =>
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
      const stopwatch = scenario.stopwatch();
      const held = await next.granted();
      expect(monotonicMicros()).toBeGreaterThan(stream.deadline);
      expect(stopwatch.chargedMs).toBeLessThan(2 * KEEPALIVE_MS + TTL_MS + RECOVERY_MS);
      clientProxy.passEverything();
      end();
      await stream.ended;
      await scenario.client('releaser', fleet.member(0)).release(held);
    }),
);
