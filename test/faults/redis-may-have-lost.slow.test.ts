import { StoreState } from '../../generated/typescript/holdfast/v1/server_service';
import { eventually } from '../support/eventually';
import { endQuarantine, serverInfo } from '../support/clients/calls';
import { Fleet } from './fleet';
import { CallEnded } from './held';
import { WaiterLine } from './waiter-line';
import { runScenario } from './scenario';

const TTL_MS = 3000;
const env = { HOLDFAST_MAX_TTL: `${TTL_MS}ms`, HOLDFAST_DEFAULT_TTL: `${TTL_MS}ms` };

let fleet: Fleet;

beforeAll(async () => {
  fleet = await Fleet.start({ redis: { appendfsync: 'everysec' }, members: [{ env }, { env }] });
});

afterAll(() => fleet?.close());

test('a Redis that may have lost its last writes keeps leases and places, and grants nothing until the quarantine ends', () =>
  runScenario({ fleet, title: 'may have lost', limitMs: 40_000 }, async (scenario) => {
    const [one, other] = [fleet.member(0), fleet.member(1)];
    const [streamed, queue] = [scenario.lock('streamed'), scenario.lock('queue')];
    const alice = scenario.client('alice', one);
    const stream = alice.hold({ name: streamed, ttlMs: TTL_MS });
    const held = await stream.granted();
    const hank = scenario.client('hank', one);
    const hankHolds = hank.hold({ name: queue, ttlMs: TTL_MS });
    const first = await hankHolds.granted();
    const line = new WaiterLine(scenario, queue, other);
    for (const label of ['w1', 'w2', 'w3']) await line.join(label, label === 'w2' ? one : other);

    const end = scenario.fault('redis_restarted', 'SIGKILL and start, appendfsync everysec');
    await fleet.redis.kill();
    await fleet.redis.restart();
    for (const member of [one, other]) {
      await eventually('the server to say that the store is in quarantine', async () => {
        const { storeState } = await serverInfo(member.address);
        return storeState === StoreState.STORE_STATE_QUARANTINED;
      });
      const late = scenario.client(`late at ${member.address}`, member);
      const refused: unknown = await late
        .acquire({ name: streamed, ttlMs: TTL_MS })
        .catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(CallEnded);
      expect((refused as CallEnded).ending).toMatchObject({ code: 'UNAVAILABLE', reason: 'QUARANTINED' });
    }

    await stream.more('renewed', 2);
    expect(stream.kinds).not.toContain('lost');
    await hank.release(first);
    expect((await hankHolds.ended).code).toBe('OK');
    await stream.more('renewed', 2);
    // The lock is free but is not granted, because a client may believe in a lease that this Redis has lost.
    expect(line.order).toEqual([]);

    const { endedQuarantine } = await endQuarantine(other.address, 'the test knows every holder');
    expect(endedQuarantine).toBeDefined();
    await line.served();
    expect(line.order).toEqual(['w1', 'w2', 'w3']);
    end();
    await alice.release(held);
    expect((await stream.ended).code).toBe('OK');
    for (const { logs } of fleet.members.map(({ server }) => server)) {
      const said = logs.map(({ msg }) => msg);
      expect(said).toContain('the store is in quarantine: nothing is granted');
      await eventually('the end to be logged', () =>
        logs.some(({ msg }) => msg === 'the quarantine is over: leases are granted again'),
      );
    }
  }));
