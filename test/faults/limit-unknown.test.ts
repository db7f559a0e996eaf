import { leaseKeys } from '../../src/leases/redis/lease-keys';
import { Fleet } from './fleet';
import { PREFIX } from './observer';
import { runScenario } from './scenario';
import { runsOf } from './script-commands';

/** Server 0 stays up. Server 1 reaches Redis through a proxy that cuts the server off. */
let fleet: Fleet;

beforeAll(async () => {
  fleet = await Fleet.start({
    members: [{}, { redisProxy: true, env: { HOLDFAST_COMMAND_TIMEOUT: '600ms' } }],
  });
});

afterAll(() => fleet?.close());

test('a limit change without a reply ends with OUTCOME_UNKNOWN, and its repeat at another server answers OK', () =>
  runScenario({ fleet, title: 'unknown limit' }, async (scenario) => {
    const name = await scenario.semaphore('permits', 3);
    const client = scenario.client('client', fleet.member(0), 'semaphore');
    const held = await client.acquire({ name, ttlMs: 5000, permits: 3 });
    const waiting = client.hold({ name, ttlMs: 3000, permits: 3 });
    await waiting.queued();
    const [state] = leaseKeys(PREFIX, { service: 'semaphore', name });
    const { redisProxy } = fleet.member(1);
    const operator = scenario.operator('operator', fleet.member(1));
    const end = scenario.fault('link_cut', 'the reply is dropped and new connections are refused');
    void redisProxy.dropNextReply(runsOf('limit', state)).then(() => redisProxy.refuseNew());
    expect(await operator.setLimit(name, 2, 3)).toEqual(['OUTCOME_UNKNOWN']);
    redisProxy.passEverything();
    end();
    expect(await waiting.ended).toMatchObject({ code: 'FAILED_PRECONDITION', reason: 'NEVER_FITS' });
    expect(await scenario.observer.read(name)).toMatchObject({
      limit: 2,
      usedCount: 3,
      overcommittedCount: 1,
    });
    await client.release(held);
  }));
