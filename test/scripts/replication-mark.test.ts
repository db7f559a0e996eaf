import { replicationMark } from '../../generated/redis/scripts';
import { eventually } from '../support/eventually';
import { RedisProcess } from '../support/processes/redis-process';

const KEY = 'test:{1}:mark';

describe('replication-mark', () => {
  let redis: RedisProcess;
  let replica: RedisProcess;
  beforeAll(async () => {
    [redis, replica] = await Promise.all([RedisProcess.start(), RedisProcess.start()]);
    // Without a replica Redis counts no writes.
    await replica.command('REPLICAOF', '127.0.0.1', redis.port);
    const isOnline = async () => String(await redis.command('INFO', 'replication')).includes('state=online');
    await eventually('the replica to be online', isOnline);
  });
  afterAll(() => Promise.all([redis.close(), replica.close()]));
  afterEach(() => redis.command('CONFIG', 'SET', 'maxmemory', '0'));

  const mark = () => redis.command('EVAL', replicationMark, 1, KEY, 50_000);

  it('writes in each call, so that WAIT has a write to wait for', async () => {
    await mark();
    const offset = async () =>
      Number(/^master_repl_offset:(\d+)/m.exec(String(await redis.command('INFO', 'replication')))?.[1]);
    const before = await offset();
    await mark();
    // A ping of the master to its replica has 14 bytes.
    expect((await offset()) - before).toBeGreaterThan(50);
    expect(Number(await redis.command('PTTL', KEY))).toBeGreaterThan(0);
    expect(Number(await redis.command('PTTL', KEY))).toBeLessThanOrEqual(50_000);
  });

  it('writes while the memory of Redis is full', async () => {
    await redis.command('CONFIG', 'SET', 'maxmemory', '1mb');
    expect(await mark()).toBe('OK');
  });
});
