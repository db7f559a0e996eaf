import { RedisClusterProcesses } from '../support/processes/redis-cluster';
import { tlsSettings } from '../support/processes/redis-security';
import { RedisSentinels, SENTINEL_AUTH, SENTINEL_USER } from '../support/processes/redis-sentinels';
import {
  autocompleteWorks,
  endQuarantine,
  handOversAreTold,
  locksWork,
  overStore,
  untilAvailable,
  type Stage,
} from './stage';

async function allWorks(stage: Stage): Promise<void> {
  await Promise.all([locksWork(stage, 'lock'), handOversAreTold(stage, 'hand-over')]);
  await autocompleteWorks(stage, 'dictionary');
  expect(stage.complaints()).toEqual([]);
}

describe('with TLS, and a user who may do only what the README says', () => {
  test('a Cluster serves locks, hand-overs and autocomplete, and nothing is complained of', () =>
    overStore(RedisClusterProcesses.start({ secure: true }), tlsSettings, async (cluster, stage) => {
      await allWorks(stage);
      for (const { redis } of cluster.nodes) expect(await usersOf([redis])).toContain('app');
    }));

  test('so does the master that Sentinel names, and the next one too', () => {
    const starting = RedisSentinels.start({
      secure: true,
      replicas: 1,
      args: ['--min-replicas-to-write', '1'],
    });
    const settings = { ...tlsSettings, HOLDFAST_REDIS_SENTINEL_AUTH: SENTINEL_AUTH };
    return overStore(starting, settings, async (sentinels, stage) => {
      await allWorks(stage);
      expect(await usersOf(sentinels.watchers)).toContain(SENTINEL_USER);
      await sentinels.failover();
      const client = stage.one.client();
      await endQuarantine(stage);
      await untilAvailable('the new master', () => client.acquire({ name: 'after it', waitMs: 0 }));
      await untilAvailable('hints', () => handOversAreTold(stage, `again ${performance.now()}`));
    });
  });
});

/** As whom the connections are that a Redis or a sentinel has. */
async function usersOf(
  redis: readonly { command(...words: [string, ...string[]]): Promise<unknown> }[],
): Promise<string[]> {
  const lists = await Promise.all(redis.map((one) => one.command('CLIENT', 'LIST')));
  return lists.flatMap((list) => [...String(list).matchAll(/ user=(\S+)/g)].map(([, user = '']) => user));
}
