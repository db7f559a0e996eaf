import { RedisClusterProcesses } from '../../support/processes/redis-cluster';
import { storeBehaviour } from './store-behaviour';

storeBehaviour('a Redis Cluster', async () => {
  const cluster = await RedisClusterProcesses.start();
  const masters = cluster.nodes.map(({ redis }) => redis);
  return { url: cluster.url, masters, close: () => cluster.close() };
});
