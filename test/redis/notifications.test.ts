import { type Clock, systemClock } from '../../src/base/clock';
import type { Resource } from '../../src/leases/lease';
import { readHint } from '../../src/leases/redis/lease-keys';
import { bucketOf, wakeChannel } from '../../src/redis/buckets';
import { OccasionalConnection } from '../../src/redis/redis-client';
import { RedisPassword } from '../../src/redis/redis-password';
import { Notifications } from '../../src/redis/topology/notifications';
import { eventually } from '../support/eventually';
import { LeaseFixture } from '../support/leases/lease-fixture';
import { PREFIX } from '../support/leases/lease-server';
import { ManualClock } from '../support/manual-clock';
import { connectionsOf, FIRST_PASSWORD, NEXT_PASSWORD, setUser } from '../support/password-rotation';
import { RedisProcess, SERVER_USER, serverUrl } from '../support/processes/redis-process';
import { TcpProxy } from '../support/proxy/tcp-proxy';
import { is } from '../support/reply-kinds';

/** Timers run twenty times as fast, so that the tests wait less for the pings of a connection. */
const fastClock: Clock = {
  now: () => systemClock.now(),
  after: (delayMs, run) => systemClock.after(delayMs / 20, run),
};

describe('Notifications', () => {
  let on: LeaseFixture;
  beforeAll(async () => {
    on = await LeaseFixture.open();
  });
  afterAll(() => on.close());

  let heard: [Resource, string][] = [];
  const open: Notifications[] = [];
  afterEach(() => {
    for (const notifications of open.splice(0)) notifications.close();
    heard = [];
  });

  async function subscribers(serverId: string): Promise<number> {
    const channel = wakeChannel(PREFIX, 0, serverId);
    const [, count] = (await on.redis.command('PUBSUB', 'SHARDNUMSUB', channel)) as string[];
    return Number(count);
  }

  async function listen(
    serverId: string,
    endpoint = on.redis.url,
    clock: Clock = systemClock,
  ): Promise<void> {
    const notifications = new Notifications({
      endpoint,
      prefix: PREFIX,
      serverId,
      commandTimeoutMs: 300,
      clock,
      onMessage: (message) => {
        const hint = readHint(PREFIX, message);
        if (hint) heard.push([hint.resource, hint.requestId]);
      },
      onError: () => undefined,
    });
    open.push(notifications);
    await eventually('a subscriber', async () => (await subscribers(serverId)) === 1);
  }

  /** A release by another server offers the lock to a waiter of this server. */
  async function offerTo(serverId: string, resource: Resource): Promise<string> {
    const holder = await on.request('elsewhere', resource);
    const waiter = await on.request(serverId, resource);
    is('granted', await holder.try());
    is('waiting', await waiter.queue());
    await holder.release(holder.secret);
    return waiter.requestId;
  }

  it.each([
    'plain',
    'with:colons:{and}:braces',
    '{',
    '}:l2:state:',
    'l2:state:x',
    'ünïcode 😀 \u200b',
    '1f0c1f7e-0000-4000-8000-000000000000',
    ' ',
  ])('contain the name %j unchanged', async (name) => {
    // The subscription of the previous test may still be open, so each test has its own server id.
    const serverId = `h1-${bucketOf(name)}`;
    await listen(serverId);
    const resource: Resource = { service: 'lock', name };
    const requestId = await offerTo(serverId, resource);
    await eventually('the hint', () => heard.length > 0);
    expect(heard).toEqual([[resource, requestId]]);
  });

  it('contain the hints for this server only', async () => {
    await listen('h2');
    await offerTo('h3', on.resource());
    const mine = await offerTo('h2', on.resource());
    await eventually('the hint', () => heard.length > 0);
    expect(heard.map(([, requestId]) => requestId)).toEqual([mine]);
  });

  it('leave out messages that are not hints', async () => {
    await listen('h4');
    for (const message of ['', 'x', 'x'.repeat(100), `${'r'.repeat(36)}${PREFIX}:{1}:l2:queue:name`]) {
      await on.redis.command('SPUBLISH', wakeChannel(PREFIX, 0, 'h4'), message);
    }
    const mine = await offerTo('h4', on.resource());
    await eventually('the hint', () => heard.length > 0);
    expect(heard.map(([, requestId]) => requestId)).toEqual([mine]);
  });

  it('arrive again after CLIENT KILL of all subscribers', async () => {
    await listen('h5');
    await on.redis.command('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await eventually('a new subscription', async () => (await subscribers('h5')) === 1);
    const requestId = await offerTo('h5', on.resource());
    await eventually('the hint', () => heard.some(([, id]) => id === requestId));
  });

  it('arrive again after the connection was half open', async () => {
    const proxy = await TcpProxy.open({ targetPort: on.redis.port, protocol: 'tcp' });
    await listen('h6', serverUrl(proxy.address), fastClock);
    proxy.blackHole('both');
    await eventually('a new connection attempt', () => proxy.connectionCount > 1);
    proxy.cutAll();
    proxy.passEverything();
    await eventually('hints to arrive', async () => {
      await offerTo('h6', on.resource());
      return heard.length > 0;
    });
    for (const notifications of open.splice(0)) notifications.close();
    await proxy.close();
  });
});

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
