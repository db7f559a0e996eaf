import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { closeAll, eventually } from '../support/eventually';
import { freePort } from '../support/processes/child-program';
import { RedisProcess } from '../support/processes/redis-process';
import { ServerProcess } from '../support/processes/server-process';
import { ROOT } from '../support/root';

const PROGRAM = join(ROOT, 'dist', 'src', 'cli', 'main.js');

describe('holdfast health', () => {
  let redis: RedisProcess;
  let server: ServerProcess;

  beforeAll(async () => {
    redis = await RedisProcess.start();
    server = await ServerProcess.start({ redisUrl: redis.url });
  });
  afterAll(() =>
    closeAll(
      () => server?.close(),
      () => redis?.close(),
    ),
  );

  function health(address: string, ...words: string[]): Promise<number> {
    return new Promise((resolve) => {
      execFile(process.execPath, [PROGRAM, 'health', '--address', address, ...words], (error) =>
        resolve(error === null ? 0 : Number(error.code)),
      );
    });
  }

  it('ends with 0 while the server is serving', async () => {
    await eventually('a serving server', async () => (await health(server.listen, '--timeout', '20s')) === 0);
    expect(await health(server.listen, '--service', 'holdfast.grants', '--timeout', '20s')).toBe(0);
  });

  it('ends with 69 if nobody listens, or if the server does not answer', async () => {
    expect(await health(`127.0.0.1:${await freePort()}`, '--alive', '--timeout', '2s')).toBe(69);
    server.stop();
    expect(await health(server.listen, '--alive', '--timeout', '2s')).toBe(69);
    server.cont();
  });

  it('ends with 1 while Redis is down, and with 0 if only an answer is wanted', async () => {
    await redis.kill();
    await eventually(
      'a server that is not serving',
      async () => (await health(server.listen, '--timeout', '20s')) === 1,
    );
    expect(await health(server.listen, '--alive', '--timeout', '20s')).toBe(0);
  });
});
