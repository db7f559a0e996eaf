import { ServerProcess } from '../support/processes/server-process';

// This test takes ten seconds, because the server tries to reach Redis for so long.
test('the server refuses to start without Redis, and hides the password', async () => {
  const refused = ServerProcess.start({ redisUrl: 'redis://:s3cret@127.0.0.1:1' });
  const error = (await refused.catch((failure: unknown) => failure)) as Error;
  expect(error.message).toContain('Redis cannot be used at redis://127.0.0.1:1 (HOLDFAST_REDIS_URL)');
  expect(error.message).toContain('nothing listens at 127.0.0.1:1 (connection refused); start Redis');
  expect(error.message).not.toContain('s3cret');
});
