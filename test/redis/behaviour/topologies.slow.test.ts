import { storeBehaviour } from './store-behaviour';
import { RedisClusterProcesses } from '../../support/processes/redis-cluster';
import { RedisSentinels } from '../../support/processes/redis-sentinels';

storeBehaviour('a Redis Cluster', async () => {
  const cluster = await RedisClusterProcesses.start();
  const masters = cluster.nodes.map(({ redis }) => redis);
  return { url: cluster.url, masters, close: () => cluster.close() };
});

storeBehaviour('the master that Sentinel names', async () => {
  const sentinels = await RedisSentinels.start({ replicas: 1, args: ['--min-replicas-to-write', '1'] });
  const master = await sentinels.master();
  return { url: sentinels.url, masters: [master], close: () => sentinels.close() };
});
