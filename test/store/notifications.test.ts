import { systemClock, type Clock } from '../../src/base/clock';
import type { Resource } from '../../src/leases/lease';
import { bucketOf, wakeChannel } from '../../src/redis/buckets';
import { readHint } from '../../src/leases/redis/lease-keys';
import { Notifications } from '../../src/redis/topology/notifications';
import { eventually } from '../support/eventually';
import { LeaseFixture } from '../support/leases/lease-fixture';
import { PREFIX } from '../support/leases/lease-server';
import { TcpProxy } from '../support/proxy/tcp-proxy';
import { is } from '../support/reply-kinds';
import { serverUrl } from '../support/processes/redis-process';

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
