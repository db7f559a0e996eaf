import { refusal } from '../support/clients/call-ending';
import { RedisSentinels } from '../support/processes/redis-sentinels';
import {
  autocompleteWorks,
  endQuarantine,
  handOversAreTold,
  locksWork,
  semaphoresWork,
  Stage,
  untilAvailable,
} from './stage';

describe('over the master that Sentinel names', () => {
  let sentinels: RedisSentinels;
  let stage: Stage;
  beforeAll(async () => {
    sentinels = await RedisSentinels.start({ replicas: 1, args: ['--min-replicas-to-write', '1'] });
    stage = await Stage.open(sentinels.url, 2, { HOLDFAST_COMMAND_TIMEOUT: '1s' });
  }, 60_000);
  afterAll(async () => {
    await stage?.close();
    await sentinels?.close();
  });

  it('locks, semaphores, hand-overs and autocomplete work', async () => {
    await Promise.all([locksWork(stage, 'lock'), semaphoresWork(stage, 'semaphore')]);
    await handOversAreTold(stage, 'hand-over');
    await autocompleteWorks(stage, 'dictionary');
    expect(stage.complaints()).toEqual([]);
  });

  it('another master is found by itself: leases go on there, and nothing is said by the old one any more', async () => {
    const client = stage.one.client();
    const before = await sentinels.master();
    const lease = await client.acquire({ name: 'stays', ttlMs: 30_000, waitMs: 0 });
    const stream = client.hold({ name: 'streamed', ttlMs: 20_000 });
    await stream.until('granted');
    await sentinels.failover();
    const renewed = await untilAvailable('the new master', () => client.renew(lease.leaseId));
    expect(renewed.fencingToken).toBe(lease.fencingToken);
    // What the replica may lack nobody knows: nothing is granted before what may be believed has ended.
    expect((await refusal(client.acquire({ name: 'new', waitMs: 0 }))).reason).toBe('QUARANTINED');
    await endQuarantine(stage);
    await untilAvailable('locks', () => locksWork(stage, `after ${performance.now()}`));
    const scripts = async () =>
      /^cmdstat_evalsha:calls=(\d+)/m.exec(String(await before.command('INFO', 'commandstats')))?.[1];
    const asked = await scripts();
    await untilAvailable('hints', () => handOversAreTold(stage, `told ${performance.now()}`));
    expect(String(await before.command('ROLE'))).toMatch(/^slave/);
    expect(await scripts()).toBe(asked);
    expect(stream.kinds).not.toContain('lost');
    stream.cancel();
  }, 60_000);
});
