import { storeBehaviour } from './store-behaviour';
import { RedisProcess } from '../../support/processes/redis-process';

storeBehaviour('a single Redis', async () => {
  const redis = await RedisProcess.start();
  return { url: redis.url, masters: [redis], close: () => redis.close() };
});
