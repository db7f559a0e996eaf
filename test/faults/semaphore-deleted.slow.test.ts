import { leaseKeys } from '../../src/leases/redis/lease-keys';
import type { RedisCommand } from '../support/proxy/tcp-proxy';
import { Fleet, type Member } from './fleet';
import type { Held } from './held';
import { PREFIX } from './observer';
import type { RecordedClient } from './recorded-client';
import type { RecordedStream } from './recorded-stream';
import { runScenario, type Scenario } from './scenario';
import { runsOf } from './script-commands';

/** The calls per server. All calls are more than a single script ends, so a deletion takes several scripts. */
const HOLDERS = 75;
const WAITERS = 50;
const TTL_MS = 4000;

/** Server 0 stays up. The other servers reach Redis through proxies. A test kills server 2. */
let fleet: Fleet;

beforeAll(async () => {
  fleet = await Fleet.start({ members: [{}, { redisProxy: true }, { redisProxy: true }] });
});

afterAll(() => fleet?.close());

/** Matches the command after the first script of a deletion. The deletion has begun and is not complete. */
function secondStep(name: string): (command: RedisCommand) => boolean {
  const [state] = leaseKeys(PREFIX, { service: 'semaphore', name });
  const isFirst = runsOf('delete', state);
  let begun = false;
  return (command) => {
    if (begun) return command.args.includes(state);
    begun = isFirst(command);
    return false;
  };
}

/** The calls at one server: streams with leases, a unary lease, and waiting streams. */
interface Crowd {
  readonly client: RecordedClient;
  readonly held: readonly RecordedStream[];
  readonly unary: Held;
  readonly waiting: RecordedStream[];
}

async function occupy(scenario: Scenario, name: string, member: Member, label: string): Promise<Crowd> {
  const client = scenario.client(label, member, 'semaphore');
  const held = Array.from({ length: HOLDERS }, () => client.hold({ name, ttlMs: TTL_MS }));
  await Promise.all(held.map((stream) => stream.granted()));
  return { client, held, unary: await client.acquire({ name, ttlMs: TTL_MS }), waiting: [] };
}

/** Creates a full semaphore with holders and waiters at two servers. */
async function occupied(
  scenario: Scenario,
  other: Member,
): Promise<{ name: string; crowds: [Crowd, Crowd] }> {
  const name = await scenario.semaphore('permits', 2 * (HOLDERS + 1));
  const crowds: [Crowd, Crowd] = [
    await occupy(scenario, name, fleet.member(0), 'crowd at the one'),
    await occupy(scenario, name, other, 'crowd at the other'),
  ];
  for (const { client, waiting } of crowds) {
    for (let count = 0; count < WAITERS; count += 1) waiting.push(client.hold({ name, ttlMs: TTL_MS }));
  }
  await scenario.observer.waiterCount(name, 2 * WAITERS);
  return { name, crowds };
}

async function expectAllEnded({ client, held, unary, waiting }: Crowd): Promise<void> {
  for (const stream of waiting) {
    expect(await stream.ended).toMatchObject({ code: 'NOT_FOUND', reason: 'NO_SUCH_SEMAPHORE' });
  }
  for (const stream of held) {
    expect(await stream.ended).toMatchObject({ code: 'ABORTED', reason: 'LEASE_LOST' });
    expect(stream.lossCause).toBe('REVOKED');
  }
  await expectRevoked(client.renew(unary));
}

async function expectRevoked(call: Promise<unknown>): Promise<void> {
  const ending = { code: 'NOT_FOUND', reason: 'LEASE_NOT_HELD', metadata: { cause: 'REVOKED' } };
  await expect(call).rejects.toMatchObject({ ending });
}

/** Expects that the semaphore is deleted, and that a new semaphore of the same name starts empty. */
async function expectGone(scenario: Scenario, name: string): Promise<void> {
  const operator = scenario.operator('afterwards', fleet.member(0));
  await expect(scenario.observer.read(name)).rejects.toThrow('NO_SUCH_SEMAPHORE');
  expect(await operator.delete(name, false)).toEqual([]);
  await operator.setLimit(name, 2);
  const client = scenario.client('newcomer', fleet.member(0), 'semaphore');
  const held = await client.acquire({ name, ttlMs: TTL_MS, permits: 2 });
  expect(await scenario.observer.read(name)).toMatchObject({ usedCount: 2, holderCount: 1, waiterCount: 0 });
  await client.release(held);
}

test.concurrent('a deletion completes and ends all calls when the reply of its first script is lost', () =>
  runScenario({ fleet, title: 'lost deletion' }, async (scenario) => {
    const other = fleet.member(1);
    const { name, crowds } = await occupied(scenario, other);
    const operator = scenario.operator('operator', other);
    await expect(operator.delete(name, false)).rejects.toMatchObject({
      ending: { code: 'FAILED_PRECONDITION', reason: 'SEMAPHORE_IN_USE' },
    });
    const [state] = leaseKeys(PREFIX, { service: 'semaphore', name });
    const lost = other.redisProxy.dropNextReply(runsOf('delete', state));
    const end = scenario.fault('reply_dropped', 'the reply of the first script of the deletion', {
      names: [name],
    });
    expect(await operator.delete(name, true)).toEqual([]);
    await lost.then(end);
    for (const crowd of crowds) await expectAllEnded(crowd);
    await expectGone(scenario, name);
  }),
);

test.concurrent('a deletion completes at another server when its server is killed between two scripts', () =>
  runScenario({ fleet, title: 'killed deletion' }, async (scenario) => {
    const other = fleet.member(2);
    const { name, crowds } = await occupied(scenario, other);
    const operator = scenario.operator('operator', other);
    const deleted = operator.delete(name, true);
    await other.redisProxy.dropNextRequest(secondStep(name));
    scenario.instant('server_killed', 'between two scripts of a deletion');
    await other.server.kill();
    await deleted; // The retry completes the deletion, unless the killed server had already answered.

    const [survived, orphaned] = crowds;
    await expectAllEnded(survived);
    for (const stream of [...orphaned.held, ...orphaned.waiting]) {
      expect((await stream.ended).code).toBe('UNAVAILABLE');
    }
    // Another server gives the same answers to the clients of the killed server.
    const { client, held, unary } = orphaned;
    client.moveTo(fleet.member(0).address);
    await expectRevoked(client.renew(unary));
    await expectRevoked(client.attach(held[0]?.held as Held).granted());
    await expectGone(scenario, name);
  }),
);
