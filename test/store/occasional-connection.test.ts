import { OccasionalConnection } from '../../src/redis/redis-client';
import { RedisPassword } from '../../src/redis/redis-password';
import { eventually } from '../support/eventually';
import { ManualClock } from '../support/manual-clock';
import { connectionsOf, FIRST_PASSWORD, NEXT_PASSWORD, setUser } from '../support/password-rotation';
import { RedisProcess, SERVER_USER, serverUrl } from '../support/processes/redis-process';
import { TcpProxy } from '../support/proxy/tcp-proxy';

const LONG_MS = 1_000_000;

describe('a connection for rare commands', () => {
  let redis: RedisProcess;
  let proxy: TcpProxy;
  let clock: ManualClock;
  let connection: OccasionalConnection;
  beforeAll(async () => {
    redis = await RedisProcess.start();
  });
  afterAll(() => redis.close());
  beforeEach(async () => {
    proxy = await TcpProxy.open({ targetPort: redis.port, protocol: 'redis' });
    clock = new ManualClock(1000);
    connection = new OccasionalConnection({
      endpoint: serverUrl(proxy.address),
      commandTimeoutMs: 5000,
      clock,
      onError: () => undefined,
    });
  });
  afterEach(async () => {
    connection.close();
    await proxy.close();
  });

  const ping = (timeoutMs = LONG_MS) => connection.use((client) => client.ping(), timeoutMs);
  const closed = () => eventually('the connection to be closed', () => proxy.openConnections === 0);

  it('opens for its first use, and stays open for the next use', async () => {
    expect(proxy.connectionCount).toBe(0);
    expect(await ping()).toBe('PONG');
    await clock.advance(9000);
    expect(await ping()).toBe('PONG');
    expect(proxy.connectionCount).toBe(1);
    expect(connection.openedAt).toBe(1000);
  });

  it('closes when nobody has used it for 10 s, and opens again', async () => {
    await ping();
    await clock.advance(10_000);
    await closed();
    expect(await ping()).toBe('PONG');
    expect(proxy.connectionCount).toBe(2);
    expect(connection.openedAt).toBe(11_000);
  });

  it('opens again after Redis has closed it', async () => {
    await ping();
    await redis.command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await closed();
    expect(await ping()).toBe('PONG');
  });

  it('fails a use that is not answered in time, and opens again', async () => {
    await ping();
    proxy.blackHole('toClient');
    const unanswered = ping(500);
    await clock.advance(500);
    await expect(unanswered).rejects.toThrow('closed');
    proxy.passEverything();
    expect(await ping()).toBe('PONG');
  });

  it('fails a use in time if the connection does not open', async () => {
    proxy.blackHole('both');
    // The handshake of the connection is not answered.
    const unanswered = connection.use((client) => client.ping(), 500);
    await eventually('the connection', () => proxy.connectionCount === 1);
    await clock.advance(500);
    await expect(unanswered).rejects.toThrow();
    proxy.passEverything();
    expect(await ping()).toBe('PONG');
  });

  it('leaves no timer and opens no connection after it was closed', async () => {
    await ping();
    connection.close();
    await closed();
    expect(clock.timerCount).toBe(0);
    await expect(ping()).rejects.toThrow();
    expect(proxy.connectionCount).toBe(1);
    expect(clock.timerCount).toBe(0);
  });

  it('opens with the present password after the password has changed while the connection was closed', async () => {
    const follows = new RedisPassword();
    await follows.use(FIRST_PASSWORD);
    connection = new OccasionalConnection({
      endpoint: { port: redis.port, username: SERVER_USER, follows },
      commandTimeoutMs: 5000,
      clock,
      onError: () => undefined,
    });
    expect(await ping()).toBe('PONG');
    await clock.advance(10_000);
    await eventually('the end of the connection', async () => (await connectionsOf(redis)).count === 0);
    await setUser([redis], `>${NEXT_PASSWORD}`, `<${FIRST_PASSWORD}`);
    try {
      await follows.use(NEXT_PASSWORD);
      expect(await ping()).toBe('PONG');
    } finally {
      await setUser([redis], `>${FIRST_PASSWORD}`, `<${NEXT_PASSWORD}`);
    }
  });
});
