import { connect } from 'node:net';
import { Redis } from 'ioredis';
import { eventually } from '../eventually';
import { RedisProcess } from '../processes/redis-process';
import { commandWords, FrameReader, isPush } from './proxy-connection';
import { TcpProxy } from './tcp-proxy';

const FRAMES = [
  '+OK\r\n',
  '-ERR no\r\n',
  ':9007199254740993\r\n',
  '$-1\r\n',
  '$0\r\n\r\n',
  '$8\r\na\r\n$1\r\nb\r\n',
  '*0\r\n',
  '*-1\r\n',
  '*2\r\n*2\r\n:1\r\n$3\r\nabc\r\n+x\r\n',
  '%1\r\n+key\r\n*1\r\n:1\r\n',
  '~2\r\n:1\r\n:2\r\n',
  '>2\r\n+invalidate\r\n_\r\n',
  '|1\r\n+ttl\r\n:3\r\n+answer\r\n',
  '=7\r\ntxt:abc\r\n',
  '#t\r\n',
  ',1.5\r\n',
  'PING\r\n',
];

describe('FrameReader', () => {
  it.each([1, 2, 3, 7, 1000])('returns the same frames from chunks of %d bytes', (size) => {
    const bytes = Buffer.from(FRAMES.join(''));
    const reader = new FrameReader();
    const found: string[] = [];
    for (let at = 0; at < bytes.length; at += size) {
      found.push(...reader.push(bytes.subarray(at, at + size)).map(String));
    }
    expect(found).toEqual(FRAMES);
  });

  it('separates a push message from replies', () => {
    const pushes = FRAMES.filter((frame) => isPush(Buffer.from(frame)));
    expect(pushes).toEqual(['>2\r\n+invalidate\r\n_\r\n']);
  });
});

describe('commandWords', () => {
  it('reads an array of bulk strings, with lengths in bytes', () => {
    const frame = Buffer.from('*3\r\n$7\r\nEVALSHA\r\n$6\r\nb\r\n\u00fcx\r\n$0\r\n\r\n');
    expect(commandWords(frame)).toEqual(['EVALSHA', 'b\r\n\u00fcx', '']);
  });

  it('reads the words of an inline command', () => {
    expect(commandWords(Buffer.from('PING  hello\r\n'))).toEqual(['PING', 'hello']);
  });
});

const LONG_MS = 150;

describe('TcpProxy in front of Redis', () => {
  let redis: RedisProcess;
  let proxy: TcpProxy;
  let client: Redis;

  beforeAll(async () => {
    redis = await RedisProcess.start({ appendfsync: 'no' });
  });
  afterAll(() => redis.close());

  beforeEach(async () => {
    await redis.command('FLUSHALL');
    proxy = await TcpProxy.open({ targetPort: redis.port, protocol: 'redis' });
    client = new Redis({
      port: proxy.port,
      maxRetriesPerRequest: 0,
      retryStrategy: () => 10,
      disconnectTimeout: 50,
      autoResendUnfulfilledCommands: false,
      commandTimeout: 20_000,
    });
    client.on('error', () => undefined);
    await client.ping();
  });
  afterEach(async () => {
    client.disconnect();
    await proxy.close();
  });

  async function elapsed(work: () => Promise<unknown>): Promise<number> {
    const started = performance.now();
    await work();
    return performance.now() - started;
  }

  it('passes commands and replies of several megabytes, and counts them', async () => {
    const large = 'x'.repeat(3_000_000);
    await client.set('large', large);
    expect(await client.get('large')).toBe(large);
    expect(proxy.commandCount('set')).toBe(1);
    expect(proxy.bytes.toTarget).toBeGreaterThan(3_000_000);
    expect(proxy.bytes.toClient).toBeGreaterThan(3_000_000);
  });

  it('reports the name and the arguments of each command', async () => {
    const seen: string[][] = [];
    proxy.on('command', ({ name, args }) => seen.push([name, ...args]));
    await client.eval('return ARGV[1]', 1, 'key', 'value');
    expect(seen).toEqual([['EVAL', 'return ARGV[1]', '1', 'key', 'value']]);
  });

  it.each(['toTarget', 'toClient'] as const)('delays bytes %s', async (direction) => {
    proxy.delay(direction, LONG_MS);
    expect(await elapsed(() => client.ping())).toBeGreaterThanOrEqual(LONG_MS - 1);
    proxy.passEverything();
    expect(await elapsed(() => client.ping())).toBeLessThan(LONG_MS);
  });

  it('keeps the order of delayed commands', async () => {
    proxy.delay('both', 20);
    const replies = Promise.all(Array.from({ length: 50 }, () => client.incr('n')));
    proxy.delay('both', 0);
    expect(await replies).toEqual(Array.from({ length: 50 }, (_, i) => i + 1));
  });

  it('holds requests in a black hole to Redis, and delivers them when the black hole ends', async () => {
    proxy.blackHole('toTarget');
    const reply = client.set('late', '1').catch((error: Error) => error);
    await new Promise((resolve) => setTimeout(resolve, LONG_MS));
    expect(await redis.command('EXISTS', 'late')).toBe('0');
    proxy.passEverything();
    expect(await reply).toBe('OK');
  });

  it('holds replies in a black hole to the client, while Redis executes the command', async () => {
    proxy.blackHole('toClient');
    let isAnswered = false;
    const reply = client.set('done', '1').finally(() => (isAnswered = true));
    await eventually(
      'Redis to execute the command',
      async () => (await redis.command('GET', 'done')) === '1',
    );
    await new Promise((resolve) => setTimeout(resolve, LONG_MS));
    expect(isAnswered).toBe(false);
    proxy.passEverything();
    expect(await reply).toBe('OK');
  });

  it('holds the end of a connection in a black hole', async () => {
    const before = Number(await connectedClients());
    proxy.blackHole('both');
    client.disconnect();
    await new Promise((resolve) => setTimeout(resolve, LONG_MS));
    expect(Number(await connectedClients())).toBe(before);
    proxy.passEverything();
    await eventually('Redis to see the end', async () => Number(await connectedClients()) < before);
  });

  async function connectedClients(): Promise<string> {
    const info = (await redis.command('INFO', 'clients')) as string;
    return /connected_clients:(\d+)/.exec(info)?.[1] ?? '';
  }

  it('cuts all connections, and accepts new connections', async () => {
    const closed = new Promise((resolve) => client.once('close', resolve));
    proxy.cutAll();
    await closed;
    expect(await client.ping()).toBe('PONG');
    expect(proxy.connectionCount).toBe(2);
  });

  it('closes all sockets when it cuts a connection that Redis closed in a black hole', async () => {
    const open = () => process.getActiveResourcesInfo().filter((kind) => kind === 'TCPSocketWrap').length;
    const [socketCount, clientCount] = [open(), await connectedClients()];
    proxy.blackHole('toClient');
    const leaving = connect(proxy.port, '127.0.0.1')
      .on('error', () => undefined)
      .resume();
    leaving.write('QUIT\r\n');
    await eventually('Redis to receive QUIT', () => proxy.commandCount('QUIT') === 1);
    await eventually('Redis to close the connection', async () => (await connectedClients()) === clientCount);
    proxy.passEverything();
    proxy.cutAll();
    await eventually('all sockets to be closed', () => open() <= socketCount);
  });

  it('refuses new connections until refuseNew(false)', async () => {
    proxy.refuseNew();
    proxy.cutAll();
    await expect(client.ping()).rejects.toThrow();
    proxy.refuseNew(false);
    await eventually('the client to reconnect', () => client.ping());
  });

  it('drops the reply of the next matching command after its execution, and cuts the connection', async () => {
    const dropped = proxy.dropNextReply(({ name, args }) => name === 'SET' && args[0] === 'b');
    const replies = await Promise.allSettled([
      client.set('a', '1'),
      client.set('b', '2'),
      client.set('c', '3'),
    ]);
    expect(replies.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
    expect((await dropped).args).toEqual(['b', '2']);
    expect(await redis.command('GET', 'b')).toBe('2');
    expect(await client.set('b', '4')).toBe('OK');
  });

  it('cuts the connection before the next matching command, which Redis does not execute', async () => {
    const dropped = proxy.dropNextRequest(({ name }) => name === 'SET');
    await expect(client.set('never', '1')).rejects.toThrow();
    expect((await dropped).args).toEqual(['never', '1']);
    expect(await redis.command('EXISTS', 'never')).toBe('0');
  });

  it('ends the client connection when Redis is killed', async () => {
    const other = await RedisProcess.start({ appendfsync: 'no' });
    const otherProxy = await TcpProxy.open({ targetPort: other.port, protocol: 'tcp' });
    const direct = new Redis({ port: otherProxy.port, retryStrategy: () => null, disconnectTimeout: 50 });
    direct.on('error', () => undefined);
    await direct.ping();
    const ended = new Promise((resolve) => direct.once('end', resolve));
    await other.kill();
    await ended;
    await eventually('the proxy to close its connections', () => otherProxy.openConnections === 0);
    await otherProxy.close();
    await other.close();
  });
});
