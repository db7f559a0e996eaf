import { eventuallyPasses } from '../support/eventually';
import { RedisProcess } from '../support/processes/redis-process';
import { InProcessServer } from './in-process-server';

/** The admin port of the whole server, with a real Redis. */

let redis: RedisProcess;
beforeAll(async () => {
  redis = await RedisProcess.start();
});
afterAll(() => redis.close());

const start = () => InProcessServer.start(redis.url, { HOLDFAST_ADMIN_LISTEN: '127.0.0.1:0' });

async function statusOf(server: InProcessServer, path: string): Promise<readonly [number, string]> {
  const answer = await fetch(`http://${server.adminAddress}${path}`);
  return [answer.status, await answer.text()];
}

test('/readyz follows the store, and /livez does not', async () => {
  const server = await start();
  try {
    expect(await statusOf(server, '/readyz')).toEqual([200, '{"ready":true}\n']);
    await redis.stop();
    await eventuallyPasses('/readyz says that the store does not answer', async () => {
      expect(await statusOf(server, '/readyz')).toEqual([
        503,
        '{"ready":false,"reasons":["the store does not answer"]}\n',
      ]);
    });
    expect(await statusOf(server, '/livez')).toEqual([200, '{"live":true}\n']);
    await redis.cont();
    await eventuallyPasses('/readyz says that the server is ready', async () => {
      expect(await statusOf(server, '/readyz')).toEqual([200, '{"ready":true}\n']);
    });
  } finally {
    await redis.cont();
    await server.closeDespiteWarnings();
  }
});

test('the admin port closes with the server', async () => {
  const server = await start();
  await statusOf(server, '/livez');
  await server.close();
  await expect(statusOf(server, '/livez')).rejects.toThrow('fetch failed');
});
