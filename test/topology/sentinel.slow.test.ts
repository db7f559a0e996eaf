import { eventually } from '../support/eventually';
import { endingOf, refusal } from '../support/clients/call-ending';
import type { RedisProcess } from '../support/processes/redis-process';
import { RedisSentinels } from '../support/processes/redis-sentinels';
import { endQuarantine, handOversAreTold, locksWork, overStore, Stage, untilAvailable } from './stage';

const over = (tell: (sentinels: RedisSentinels, stage: Stage) => Promise<void>) =>
  overStore(
    RedisSentinels.start({ args: ['--min-replicas-to-write', '1'] }),
    { HOLDFAST_COMMAND_TIMEOUT: '1s' },
    tell,
  );

/** Brings one master down, and looks whether a lease that its replicas have goes on at the next one. */
async function survives(
  sentinels: RedisSentinels,
  stage: Stage,
  bringDown: (master: RedisProcess) => Promise<void>,
): Promise<RedisProcess> {
  const client = stage.one.client();
  const before = await sentinels.master();
  const lease = await client.acquire({ name: 'kept', ttlMs: 60_000, waitMs: 0 });
  expect(Number(await before.command('WAIT', 2, 3000))).toBe(2);
  const downAt = performance.now();
  await bringDown(before);
  const renewed = await untilAvailable('the next master', () => client.renew(lease.leaseId));
  expect(performance.now() - downAt).toBeLessThan(15_000);
  expect(await sentinels.master()).not.toBe(before);
  expect(renewed.fencingToken).toBe(lease.fencingToken);
  const rival = stage.other.client();
  const quarantined = untilAvailableOrQuarantined(() => rival.acquire({ name: 'new', waitMs: 0 }));
  expect((await refusal(quarantined)).reason).toBe('QUARANTINED');
  await endQuarantine(stage);
  const contended = untilAvailable('the other server', () => rival.acquire({ name: 'kept', waitMs: 0 }));
  expect((await refusal(contended)).reason).toBe('CONTENDED');
  await untilAvailable('locks', () => locksWork(stage, `after ${performance.now()}`));
  await untilAvailable('hints', () => handOversAreTold(stage, `told ${performance.now()}`));
  return before;
}

/** Passes over what ends because one server is not there yet. */
function untilAvailableOrQuarantined<T>(call: () => Promise<T>): Promise<T> {
  let ending: unknown;
  const once = () =>
    call().catch((error: unknown) => {
      ending = error;
      if (endingOf(error).reason === 'QUARANTINED') return undefined;
      throw error;
    });
  return untilAvailable('a quarantine', once).then((value) => {
    if (value === undefined) throw ending;
    return value;
  });
}

const scriptsRun = async (redis: RedisProcess): Promise<string | undefined> =>
  /^cmdstat_evalsha:calls=(\d+)/m.exec(String(await redis.command('INFO', 'commandstats')))?.[1];

test('a master that is killed is followed by another one', () =>
  over(async (sentinels, stage) => {
    await survives(sentinels, stage, (master) => master.kill());
  }));

test('a master that stands still is followed by another one, and is not spoken to when it goes on', () =>
  over(async (sentinels, stage) => {
    const old = await survives(sentinels, stage, (master) => master.stop());
    await old.cont();
    await eventually(
      'the old master to follow',
      async () => /^slave/.test(String(await old.command('ROLE'))),
      {
        timeoutMs: 20_000,
      },
    );
    const asked = await scriptsRun(old);
    await Promise.all([locksWork(stage, 'at last'), handOversAreTold(stage, 'at last, told')]);
    expect(await scriptsRun(old)).toBe(asked);
  }));

test('a server starts and works while one of three sentinels is gone and another one hangs', () =>
  over(async (sentinels) => {
    const [gone, hanging] = sentinels.watchers as [RedisProcess, RedisProcess, RedisProcess];
    await gone.kill();
    await hanging.stop();
    const stage = await Stage.open(sentinels.url, 2);
    await Promise.all([locksWork(stage, 'lock'), handOversAreTold(stage, 'hand-over')]);
    expect(stage.complaints()).toEqual([]);
    await stage.close();
    await hanging.cont();
  }));
