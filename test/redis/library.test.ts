import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { leaseLibrary } from '../../generated/redis/scripts';
import { systemClock } from '../../src/base/clock';
import { librariesKey } from '../../src/redis/buckets';
import { operation } from '../../src/redis/script';
import { RedisConnection } from '../../src/redis/connection';
import { LoadedLibrary } from '../../src/redis/library';
import { LeaseFixture } from '../support/leases/lease-fixture';
import { Requester } from '../support/leases/lease-requester';
import { TestServer } from '../support/leases/lease-server';
import { ManualClock, settled } from '../support/manual-clock';
import { eventually } from '../support/eventually';
import { RedisProcess } from '../support/processes/redis-process';
import { TcpProxy } from '../support/proxy/tcp-proxy';
import { is } from '../support/reply-kinds';
import { connectTestStore } from '../support/test-store';

/** How many functions and scripts Redis has run. */
async function runsOf(redis: RedisProcess): Promise<{ functions: number; scripts: number }> {
  const stats = String(await redis.command('INFO', 'commandstats'));
  const count = (name: string) =>
    Number(new RegExp(`^cmdstat_${name}:calls=(\\d+)`, 'm').exec(stats)?.[1] ?? 0);
  return { functions: count('fcall'), scripts: count('evalsha') + count('eval') };
}

async function librariesOf(redis: RedisProcess): Promise<string[]> {
  const listed = (await redis.command('FUNCTION', 'LIST')) as unknown[][];
  return listed.map((one) => String(one[1]));
}

describe('the library of leases', () => {
  let fixture: LeaseFixture;
  beforeAll(async () => {
    fixture = await LeaseFixture.open();
  });
  afterAll(() => fixture?.close());
  afterEach(() => fixture.redis.command('CONFIG', 'SET', 'maxmemory', '0'));

  /** Carries out an acquire and a release. Returns how they ran. */
  async function pair(): Promise<{ functions: number; scripts: number }> {
    const request = await fixture.request('s1', fixture.resource());
    const before = await runsOf(fixture.redis);
    is('granted', await request.try());
    is('released', await request.release(request.secret));
    const after = await runsOf(fixture.redis);
    return { functions: after.functions - before.functions, scripts: after.scripts - before.scripts };
  }
  const isLoaded = async () => (await fixture.server('s1')).node.hasLibrary;
  const fill = () => fixture.redis.command('CONFIG', 'SET', 'maxmemory', '1mb');

  it('carries out operations as functions', async () => {
    expect(await isLoaded()).toBe(true);
    expect(await pair()).toEqual({ functions: 2, scripts: 0 });
    expect(await librariesOf(fixture.redis)).toEqual([
      expect.stringMatching(/^holdfast_[0-9a-f]{8}_[0-9a-f]{16}$/),
    ]);
  });

  it('is loaded again after FUNCTION FLUSH, and the operations meanwhile run as scripts', async () => {
    await pair();
    await fixture.redis.command('FUNCTION', 'FLUSH');
    await fixture.redis.command('SCRIPT', 'FLUSH');
    const { functions, scripts } = await pair();
    expect(scripts).toBeGreaterThan(0);
    expect(functions).toBeLessThanOrEqual(2);
    await eventually('the library', isLoaded);
    expect(await pair()).toEqual({ functions: 2, scripts: 0 });
  });

  it('may be lost while memory is full: leases are renewed and released, new ones are refused, and it comes back', async () => {
    const [held, other] = await fixture.requests(2, 's1', fixture.resource());
    const rival = await fixture.request('s1', fixture.resource());
    is('granted', await held!.try());
    await fixture.redis.command('FUNCTION', 'FLUSH');
    await fixture.redis.command('SCRIPT', 'FLUSH');
    await fill();
    is('granted', await held!.renew(held!.secret));
    await expect(rival.try()).rejects.toMatchObject({ carriedOut: 'no', kind: 'full' });
    is('released', await held!.release(held!.secret));
    await expect(other!.try()).rejects.toMatchObject({ carriedOut: 'no', kind: 'full' });
    expect(await isLoaded()).toBe(false);
    await fixture.redis.command('CONFIG', 'SET', 'maxmemory', '0');
    await eventually('the library', isLoaded);
    is('granted', await other!.try());
  });

  it('refuses new leases, and nothing else, when memory is full', async () => {
    await eventually('the library', isLoaded);
    const held = await fixture.request('s1', fixture.resource());
    const rival = await fixture.request('s1', fixture.resource());
    is('granted', await held.try());
    await fill();
    const before = await runsOf(fixture.redis);
    is('granted', await held.renew(held.secret));
    await expect(rival.try()).rejects.toMatchObject({ carriedOut: 'no', kind: 'full' });
    is('released', await held.release(held.secret));
    const after = await runsOf(fixture.redis);
    expect(after.scripts).toBe(before.scripts);
  });
});

describe('libraries of several versions and services', () => {
  let redis: RedisProcess;
  const opened: RedisConnection[] = [];
  beforeAll(async () => {
    redis = await RedisProcess.start();
  });
  afterEach(() => {
    for (const one of opened.splice(0)) one.close();
    return redis.command('FUNCTION', 'FLUSH');
  });
  afterAll(() => redis?.close());

  async function open(text: string, prefix = 'test'): Promise<RedisConnection> {
    const connection = new RedisConnection({
      endpoint: redis.adminUrl,
      commandTimeoutMs: 5000,
      clock: systemClock,
      prefix,
      scripts: [operation(text, 'inspect', '#!lua flags=no-writes\nreturn {}')],
      onError: () => undefined,
    });
    opened.push(connection);
    await eventually('the library', () => connection.library?.state === 'loaded');
    return connection;
  }

  it('are side by side, one for each version and each prefix of keys', async () => {
    const connections = [
      await open(leaseLibrary),
      await open(`${leaseLibrary}-- a later version\n`),
      await open(leaseLibrary, 'other'),
      await open(leaseLibrary), // the library that is there
    ];
    const names = new Set(connections.map(({ library }) => library?.name));
    expect(names.size).toBe(3);
    expect((await librariesOf(redis)).sort()).toEqual([...names].sort());
  });

  it('of two versions hand a lock from one to the other, and back', async () => {
    const options = { url: redis.adminUrl, commandTimeoutMs: 5000, retentionMs: 3_600_000 };
    const servers = [new TestServer('s1', options), new TestServer('s2', { ...options, smallHead: true })];
    try {
      for (const { node } of servers) {
        await node.ready(5000);
        await eventually('the library', () => node.hasLibrary);
      }
      const { scripts } = await runsOf(redis);
      expect(await librariesOf(redis)).toHaveLength(2);
      const resource = { service: 'lock', name: 'handed over' } as const;
      const waiting = [0, 1, 0, 1].map((at) => new Requester(servers[at] as TestServer, resource));
      is('granted', await waiting[0]!.try());
      for (const one of waiting.slice(1)) is('waiting', await one.queue());
      for (const [at, one] of waiting.entries()) {
        is('granted', await one.claim());
        for (const later of waiting.slice(at + 1)) is('waiting', await later.claim());
        is('released', await one.release(one.secret));
      }
      expect((await runsOf(redis)).scripts).toBe(scripts);
    } finally {
      for (const one of servers) one.close();
    }
  });

  describe('that no server has used for a week', () => {
    const WEEK_US = 7 * 86_400_000_000;
    const key = librariesKey('test', 0);
    const family = 'holdfast_9f86d081_'; // of the prefix
    const [old, recent, unknown, later] = ['old', 'recent', 'unknown', 'later'].map(
      (one) => family + one,
    ) as [string, string, string, string];

    it('are deleted, and others are noted', async () => {
      const strangers = ['holdfast_00000000_old', 'stranger'];
      for (const name of [old, recent, unknown, later, ...strangers]) {
        const library = `#!lua name=${name}\nredis.register_function('${name}', function() end)`;
        await redis.command('FUNCTION', 'LOAD', library);
      }
      const [seconds] = (await redis.command('TIME')) as string[];
      const now = Number(seconds) * 1_000_000;
      const notes = [
        [old, now - WEEK_US - 1],
        [recent, now - WEEK_US + 60_000_000],
        [later, now + 2 * WEEK_US],
        [`${family}gone`, 0],
      ].flat();
      await redis.command('HSET', key, ...notes);
      const connection = await open(leaseLibrary);
      const { name } = connection.library as LoadedLibrary;
      await eventually(
        'the old library to be deleted',
        async () => !(await librariesOf(redis)).includes(old),
      );
      const left = [name, recent, unknown, later, ...strangers].sort();
      expect((await librariesOf(redis)).sort()).toEqual(left);
      const flat = (await redis.command('HGETALL', key)) as string[];
      const times = new Map(flat.flatMap((field, at) => (at % 2 ? [] : [[field, Number(flat[at + 1])]])));
      expect(times.get(recent)).toBe(now - WEEK_US + 60_000_000);
      // A time after the present counts from now on, as does a library that was not known.
      for (const one of [name, unknown, later]) {
        expect(times.get(one)).toBeGreaterThanOrEqual(now);
        expect(times.get(one)).toBeLessThan(now + WEEK_US);
      }
      expect([...times.keys()]).not.toContain(`${family}gone`);
      expect(Number(await redis.command('PTTL', key))).toBeGreaterThan(WEEK_US / 1000);
    });
  });

  it('that Redis has are used while it takes none: it is full, or too few replicas are there', async () => {
    await open(leaseLibrary);
    for (const [setting, value, usual] of [
      ['maxmemory', '1mb', '0'],
      ['min-replicas-to-write', '1', '0'],
    ] as const) {
      await redis.command('CONFIG', 'SET', setting, value);
      try {
        await open(leaseLibrary);
      } finally {
        await redis.command('CONFIG', 'SET', setting, usual);
      }
    }
  });
});

/** A Redis whose answers the test gives. */
class Answers {
  readonly client = { stream: {}, call: (...words: string[]) => this.answer(words) };
  readonly calls: {
    words: readonly string[];
    resolve: (reply: unknown) => void;
    reject: (error: Error) => void;
  }[] = [];
  readonly errors: string[] = [];
  scriptCount = 0;
  place: number | undefined = 7;
  readonly clock = new ManualClock();
  readonly library = new LoadedLibrary({
    text: '#!lua name=LIBRARY',
    prefix: 'test',
    client: () => this.client as unknown as Redis,
    bucket: () => this.place,
    clock: this.clock,
    onScripts: () => (this.scriptCount += 1),
    onError: ({ message }) => this.errors.push(message),
  });

  private answer(words: readonly string[]): Promise<unknown> {
    return new Promise((resolve, reject) => this.calls.push({ words, resolve, reject }));
  }

  /** Answers the oldest call, which has these words. A text that begins with a code is an error of Redis. */
  async next(words: string, reply: unknown): Promise<void> {
    await settled();
    const call = this.calls.shift();
    expect(call?.words.join(' ')).toContain(words);
    if (reply instanceof Error) call?.reject(reply);
    else call?.resolve(reply);
    await settled();
  }

  reconnect(): void {
    this.client.stream = {};
    this.library.connected();
  }
}

const refused = (message: string) => Object.assign(new Error(message), { name: 'ReplyError' });

describe('a load of the library', () => {
  let redis: Answers;
  beforeEach(() => {
    redis = new Answers();
    redis.reconnect();
  });

  it('that is lost with the connection gives no scripts to it, and the next connection loads again', async () => {
    await redis.next('FUNCTION LOAD', new Error('Connection is closed.'));
    expect(redis.scriptCount).toBe(0);
    redis.reconnect();
    await redis.next('FUNCTION LOAD', 'name');
    expect(redis.library.state).toBe('loaded');
  });

  it('does not count when it is answered after the connection has changed', async () => {
    redis.reconnect();
    await redis.next('FUNCTION LOAD', 'name');
    expect(redis.library.state).toBe('missing');
    await redis.next('FUNCTION LOAD', 'name');
    expect(redis.library.state).toBe('loaded');
  });

  it('does not count when the user has lost the right meanwhile', async () => {
    redis.library.setRights(false);
    await redis.next('FUNCTION LOAD', 'name');
    expect(redis.library.state).toBe('refused');
    expect(redis.scriptCount).toBe(1);
  });

  it.each(["ERR unknown command 'FUNCTION'", "ERR unknown subcommand 'LOAD'", 'NOPERM this user'])(
    'that is refused with "%s" is not tried again over this connection',
    async (message) => {
      await redis.next('FUNCTION LOAD', refused(message));
      expect(redis.library.state).toBe('refused');
      expect(redis.scriptCount).toBe(1);
      redis.clock.pass(60_000);
      redis.library.check();
      expect(redis.calls).toEqual([]);
      expect(redis.errors).toEqual([]);
      redis.reconnect();
      await redis.next('FUNCTION LOAD', 'name');
      expect(redis.library.state).toBe('loaded');
    },
  );

  it('that fails for a reason that is not known is an error in the log, once for each connection', async () => {
    await redis.next('FUNCTION LOAD', refused('ERR Error compiling function'));
    redis.clock.pass(60_000);
    redis.library.check();
    expect(redis.library.state).toBe('refused');
    expect(redis.calls).toEqual([]);
    expect(redis.errors).toEqual(['ERR Error compiling function']);
  });

  it('that is refused by a replica is tried again after 5 s, and the replica is asked to run nothing', async () => {
    await redis.next('FUNCTION LOAD', refused('READONLY You cannot'));
    expect(redis.library.state).toBe('missing');
    expect(redis.scriptCount).toBe(1);
    redis.clock.pass(5000);
    redis.library.check();
    await redis.next('FUNCTION LOAD', 'name');
    expect(redis.library.state).toBe('loaded');
  });

  it.each(['OOM command not allowed', 'MISCONF Redis', 'NOREPLICAS Not enough'])(
    'that is refused with "%s" is tried again after 5 s, and at once when a call finds that the library has gone',
    async (message) => {
      await redis.next('FUNCTION LOAD', refused(message));
      await redis.next('_read 0 ', refused('ERR Function not found'));
      expect(redis.library.state).toBe('missing');
      expect(redis.scriptCount).toBe(1);
      redis.clock.pass(4999);
      redis.library.check();
      expect(redis.calls).toEqual([]);
      redis.clock.pass(1);
      redis.library.check();
      redis.library.check();
      await redis.next('FUNCTION LOAD', refused(message));
      await redis.next('FCALL', []);
      expect(redis.library.state).toBe('loaded');
      redis.library.lost();
      await redis.next('FUNCTION LOAD', 'name');
      expect(redis.library.state).toBe('loaded');
      expect(redis.scriptCount).toBe(1);
    },
  );

  it('begins again when the user gets the right', async () => {
    await redis.next('FUNCTION LOAD', refused('NOPERM this user'));
    redis.library.setRights(false);
    redis.library.setRights(true);
    redis.clock.pass(5000);
    redis.library.check();
    await redis.next('FUNCTION LOAD', 'name');
    expect(redis.library.state).toBe('loaded');
  });

  it('is noted at once and each hour, and a minute later if the note fails or has no place yet', async () => {
    await redis.next('FUNCTION LOAD', 'name');
    redis.place = undefined;
    redis.library.check();
    expect(redis.calls).toEqual([]);
    redis.place = 7;
    redis.clock.pass(60_000);
    redis.library.check();
    await redis.next('FUNCTION LIST LIBRARYNAME holdfast_9f86d081_*', refused('LOADING'));
    redis.clock.pass(59_999);
    redis.library.check();
    expect(redis.calls).toEqual([]);
    redis.clock.pass(1);
    redis.library.check();
    await redis.next('FUNCTION LIST', [['library_name', 'holdfast_9f86d081_old', 'engine', 'LUA']]);
    await redis.next(`${redis.library.name} holdfast_9f86d081_old`, ['holdfast_9f86d081_old']);
    await redis.next('FUNCTION DELETE holdfast_9f86d081_old', refused('ERR Library not found'));
    redis.clock.pass(3_599_999);
    redis.library.check();
    expect(redis.calls).toEqual([]);
    redis.clock.pass(1);
    redis.library.check();
    await redis.next('FUNCTION LIST', []);
  });
});

describe('a server whose Redis is replaced', () => {
  it('loads the library into the new Redis', async () => {
    const [first, second] = await Promise.all([RedisProcess.start(), RedisProcess.start()]);
    const front = await TcpProxy.open({ targetPort: first.port, protocol: 'redis' });
    const url = first.url.replace(/:\d+$/, `:${front.address.split(':')[1]}`);
    const store = await connectTestStore(url, { serverId: 's1', commandTimeoutMs: 5000 });
    try {
      front.leadTo(second.port);
      front.cutAll();
      await eventually('the library', async () => (await librariesOf(second)).length === 1);
      await store.permits.inspect({ service: 'lock', name: randomUUID() });
      expect((await runsOf(second)).functions).toBeGreaterThan(0);
    } finally {
      store.close();
      await front.close();
      await first.close();
      await second.close();
    }
  });
});
