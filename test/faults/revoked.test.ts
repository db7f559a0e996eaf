import { setTimeout as sleep } from 'node:timers/promises';
import { LockClient } from '../support/clients/lease-client';
import { monotonicMicros } from '../support/history-recorder';
import { Fleet } from './fleet';
import type { Held } from './held';
import { runScenario, type Scenario } from './scenario';
import { WaiterLine } from './waiter-line';

/** Server 0 stays up. Each scenario has another server for the holder. */
let fleet: Fleet;

beforeAll(async () => {
  fleet = await Fleet.start({ members: [{}, {}, { redisProxy: true }, {}] });
});

afterAll(() => fleet?.close());

/** An operator at server 0 revokes the lease with this token, without force. */
async function revoke(scenario: Scenario, name: string, { token }: Held): Promise<void> {
  const recorder = scenario.recorderOf('operator');
  const client = new LockClient(fleet.member(0).address);
  try {
    recorder.record({ type: 'revoke_asked', name, tokens: [Number(token)], force: false });
    const target = { $case: 'fencingToken', value: token } as const;
    expect((await client.revoke({ name, target })).revokedCount).toBe(1);
    recorder.record({ type: 'revoke_answered', name, token: Number(token) });
  } finally {
    client.close();
  }
}

test.concurrent.each([
  ['is paused', 'server_stopped', 1],
  ['cannot reach Redis', 'link_cut', 2],
] as const)(
  'the next holder waits for the end of a revoked lease while its server %s',
  (what, fault, index) =>
    runScenario({ fleet, title: what }, async (scenario) => {
      const [other, cut] = [fleet.member(0), fleet.member(index)];
      const name = scenario.lock('revoked');
      const alice = scenario.client('alice', cut);
      const stream = alice.hold({ name, ttlMs: 4000 });
      const held = await stream.granted();
      scenario.observer.watchLease(held);
      const line = new WaiterLine(scenario, name, other);
      await line.join('bob', other);
      await stream.more('renewed');

      const end = scenario.fault(fault, what);
      if (fault === 'server_stopped') cut.server.stop();
      else cut.redisProxy.blackHole('both');
      await sleep(100);
      await revoke(scenario, name, held);
      await line.served();
      expect(monotonicMicros()).toBeGreaterThan(stream.deadline);
      if (fault === 'server_stopped') cut.server.cont();
      else cut.redisProxy.passEverything();
      end();
      expect(await stream.ended).toMatchObject({ code: 'ABORTED', reason: 'LEASE_LOST' });
    }),
);

test.concurrent(
  'a stream whose hint is lost learns of the revocation by its next renewal, and is not renewed',
  () =>
    runScenario({ fleet, title: 'hint lost' }, async (scenario) => {
      const name = scenario.lock('hint');
      const alice = scenario.client('alice', fleet.member(3));
      const stream = alice.hold({ name, ttlMs: 3000 });
      const held = await stream.granted();
      const end = scenario.fault('connections_killed', 'CLIENT KILL TYPE pubsub');
      await fleet.redis.command('CLIENT', 'KILL', 'TYPE', 'pubsub');
      await revoke(scenario, name, held);
      end();
      expect(await stream.ended).toMatchObject({
        code: 'ABORTED',
        reason: 'LEASE_LOST',
        metadata: { cause: 'REVOKED' },
      });
      // The holder may release its lease, and frees the lock before its end.
      await alice.release(held);
    }),
);
