import { existsSync } from 'node:fs';
import { untilGone } from './child-program';
import { RedisProcess } from './redis-process';

describe('RedisProcess', () => {
  let redis: RedisProcess;
  beforeAll(async () => {
    redis = await RedisProcess.start();
  });
  afterAll(() => redis.close());

  it('starts with appendfsync always and maxmemory-policy noeviction', async () => {
    expect(await redis.command('CONFIG', 'GET', 'append*')).toEqual(
      expect.arrayContaining(['appendonly', 'yes', 'appendfsync', 'always']),
    );
    expect(await redis.command('CONFIG', 'GET', 'maxmemory-policy')).toEqual([
      'maxmemory-policy',
      'noeviction',
    ]);
  });

  it('keeps its data and its port over SIGKILL and a restart', async () => {
    const { port } = redis;
    await redis.command('SET', 'kept', 'yes');
    await redis.kill();
    await expect(redis.command('GET', 'kept')).rejects.toThrow();
    await redis.restart();
    expect(redis.port).toBe(port);
    expect(await redis.command('GET', 'kept')).toBe('yes');
  });

  it('answers the commands that arrived during a stop after SIGCONT', async () => {
    await redis.stop();
    let answered = false;
    const reply = redis.command('INCR', 'n').finally(() => (answered = true));
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(answered).toBe(false);
    await redis.cont();
    expect(await reply).toBe('1');
  });

  it('applies a memory limit and further arguments', async () => {
    const other = await RedisProcess.start({ maxmemory: '5mb', args: ['--databases', '3'] });
    expect(await other.command('CONFIG', 'GET', 'maxmemory')).toEqual(['maxmemory', '5242880']);
    expect(await other.command('CONFIG', 'GET', 'databases')).toEqual(['databases', '3']);
    await other.close();
  });

  it('rejects with the log of Redis when Redis ends at its start', async () => {
    await expect(RedisProcess.start({ args: ['--no-such-directive', '1'] })).rejects.toThrow(
      /no-such-directive/i,
    );
  });

  it('rejects commands after its close, and opens no new connection', async () => {
    const other = await RedisProcess.start();
    await other.close();
    await expect(other.command('PING')).rejects.toThrow('PING: this Redis is closed');
  });

  it('removes the process and the data on close', async () => {
    const other = await RedisProcess.start();
    const { pid } = other;
    const [, folder] = (await other.command('CONFIG', 'GET', 'dir')) as [string, string];
    await other.close();
    expect(existsSync(folder)).toBe(false);
    await untilGone(pid!);
  });
});
