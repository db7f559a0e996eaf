import { RedisSentinels } from '../../support/processes/redis-sentinels';
import { storeBehaviour } from './store-behaviour';

storeBehaviour('the master that Sentinel names', async () => {
  const sentinels = await RedisSentinels.start({ replicas: 1, args: ['--min-replicas-to-write', '1'] });
  const master = await sentinels.master();
  return { url: sentinels.url, masters: [master], close: () => sentinels.close() };
});
