import { ServerProcess } from '../support/processes/server-process';

// The server tries to reach Redis for ten seconds.
test('the server refuses to start without Redis, and hides the password', async () => {
  const refused = ServerProcess.start({ redisUrl: 'redis://:s3cret@127.0.0.1:1' });
  const error = (await refused.catch((failure: unknown) => failure)) as Error;
  expect(error.message).toContain('Redis cannot be used at redis://127.0.0.1:1 (HOLDFAST_REDIS_URL)');
  expect(error.message).toContain('ECONNREFUSED');
  expect(error.message).not.toContain('s3cret');
});
