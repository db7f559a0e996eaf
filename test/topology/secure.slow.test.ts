import { RedisClusterProcesses } from '../support/processes/redis-cluster';
import { tlsSettings } from '../support/processes/redis-security';
import { RedisSentinels, SENTINEL_AUTH, SENTINEL_USER } from '../support/processes/redis-sentinels';
import { endQuarantine, everythingWorks, handOversAreHinted, overStore, untilAvailable } from './stage';

describe('with TLS, and a Redis user with the documented rights', () => {
  test('a Cluster serves locks, semaphores, hand-overs and autocomplete without a warning', () =>
    overStore(RedisClusterProcesses.start({ secure: true }), tlsSettings, async (cluster, stage) => {
      await everythingWorks(stage);
      for (const { redis } of cluster.nodes) expect(await usersOf([redis])).toContain('app');
    }));

  test('two masters in turn, as named by Sentinel, serve locks, semaphores, hand-overs and autocomplete without a warning', () => {
    const starting = RedisSentinels.start({
      secure: true,
      replicas: 1,
      args: ['--min-replicas-to-write', '1'],
    });
    const settings = { ...tlsSettings, HOLDFAST_REDIS_SENTINEL_AUTH: SENTINEL_AUTH };
    return overStore(starting, settings, async (sentinels, stage) => {
      await everythingWorks(stage);
      expect(await usersOf(sentinels.watchers)).toContain(SENTINEL_USER);
      await sentinels.failover();
      const client = stage.one.client();
      await endQuarantine(stage);
      await untilAvailable('the new master', () => client.acquire({ name: 'after the failover', waitMs: 0 }));
      await untilAvailable('hints', () => handOversAreHinted(stage, `again ${performance.now()}`));
    });
  });
});

/** The users of all connections to these processes. */
async function usersOf(
  redis: readonly { command(...words: [string, ...string[]]): Promise<unknown> }[],
): Promise<string[]> {
  const lists = await Promise.all(redis.map((one) => one.command('CLIENT', 'LIST')));
  return lists.flatMap((list) => [...String(list).matchAll(/ user=(\S+)/g)].map(([, user = '']) => user));
}
