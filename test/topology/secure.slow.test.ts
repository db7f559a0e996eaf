import { RedisClusterProcesses } from '../support/processes/redis-cluster';
import { SERVER_USER, tlsSettings } from '../support/processes/redis-process';
import { RedisSentinels, SENTINEL_AUTH } from '../support/processes/redis-sentinels';
import { connectTestStore } from '../support/test-store';
import { endQuarantine, everythingWorks, handOversAreHinted, overStore, untilAvailable } from './stage';

describe('with TLS, and with the documented rights at Redis and at the sentinels', () => {
  test('a Cluster serves locks, semaphores, hand-overs and autocomplete without a warning', () =>
    overStore(RedisClusterProcesses.start({ secure: true }), tlsSettings, async (cluster, stage) => {
      await everythingWorks(stage);
      for (const { redis } of cluster.nodes) expect(await usersOf([redis])).toContain(SERVER_USER);
    }));

  test('a Cluster with a node that refuses a right keeps the server from starting', async () => {
    const cluster = await RedisClusterProcesses.start();
    try {
      await cluster.nodes[1]?.redis.command('ACL', 'SETUSER', SERVER_USER, '-asking');
      const started = connectTestStore(cluster.url, { serverId: 's1', commandTimeoutMs: 2000 });
      await expect(started).rejects.toThrow(/this Redis user may not run ASKING/);
    } finally {
      await cluster.close();
    }
  });

  test('two masters in turn, as named by Sentinel, serve locks, semaphores, hand-overs and autocomplete without a warning', () => {
    const starting = RedisSentinels.start({
      secure: true,
      replicas: 1,
      args: ['--min-replicas-to-write', '1'],
    });
    const settings = { ...tlsSettings, HOLDFAST_REDIS_SENTINEL_AUTH: SENTINEL_AUTH };
    return overStore(starting, settings, async (sentinels, stage) => {
      await everythingWorks(stage);
      expect(await usersOf(sentinels.watchers)).toContain(SERVER_USER);
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
