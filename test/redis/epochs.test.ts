import { setTimeout as sleep } from 'node:timers/promises';
import { type Clock, systemClock } from '../../src/base/clock';
import type { StoreFailure } from '../../src/base/errors';
import { BUCKET_COUNT, epochKey } from '../../src/redis/buckets';
import { eventually } from '../support/eventually';
import { Requester, type RequesterOptions } from '../support/leases/lease-requester';
import { TestServer, type TestServerOptions } from '../support/leases/lease-server';
import { RedisProcess, type RedisProcessOptions, serverUrl } from '../support/processes/redis-process';
import { TcpProxy } from '../support/proxy/tcp-proxy';
import { failureOf, is } from '../support/reply-kinds';

const QUARANTINE_MS = 30_000;
const lock = { service: 'lock', name: 'a lock' } as const;

describe('a server over a Redis that may have lost leases', () => {
  const closers: (() => void | Promise<void>)[] = [];
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
  });

  async function start(options: RedisProcessOptions = {}): Promise<RedisProcess> {
    const redis = await RedisProcess.start(options);
    closers.push(() => redis.close());
    return redis;
  }

  let servers = 0;
  async function connect(url: string, options: Partial<TestServerOptions> = {}): Promise<TestServer> {
    const given = { commandTimeoutMs: 2000, retentionMs: 3_600_000, quarantineMs: QUARANTINE_MS, ...options };
    const server = new TestServer(`s${(servers += 1)}`, { url, ...given });
    closers.push(() => server.close());
    await server.node.ready(5000);
    return server;
  }

  const on = (server: TestServer, options?: RequesterOptions) => new Requester(server, lock, options);

  async function quarantined(command: Promise<unknown>): Promise<void> {
    const failure = await failureOf(command);
    expect(failure).toMatchObject({ carriedOut: 'no', kind: 'quarantined' });
    expect(failure.retryAfterMs).toBeGreaterThan(0);
    expect(failure.retryAfterMs).toBeLessThanOrEqual(QUARANTINE_MS);
  }

  /**
   * Restarts Redis, and waits until the server has adopted the epochs of the new run. While an fsync is in progress,
   * `appendfsync everysec` keeps writes in the memory of Redis for up to 2 s. SIGKILL would lose them.
   */
  async function restart(redis: RedisProcess, server: TestServer): Promise<void> {
    const { epochs, connection } = server.node;
    const before = epochs.runId;
    const hasUnwrittenData = async () =>
      /^aof_buffer_length:[1-9]/m.test(String(await redis.command('INFO', 'persistence')));
    await eventually('the append-only file to have every write', async () => !(await hasUnwrittenData()));
    await redis.kill();
    await redis.restart();
    const isNewRun = () => connection.isReady && epochs.runId !== before;
    await eventually('the server to know the new run', isNewRun, { timeoutMs: 10_000 });
    await epochs.adopt();
  }

  it('starts without a quarantine only if the operator asserts a new store before any server has used it', async () => {
    const redis = await start();
    const stranger = await connect(redis.url, { storeIsNew: false });
    expect(stranger.node.quarantine?.cause).toBe('forgotten');
    await quarantined(on(stranger).try());
    // The assertion comes too late, because another server has started a quarantine already.
    const late = await connect(redis.url);
    expect(late.node.quarantine?.cause).toBe('forgotten');
    await quarantined(on(late).try());
    const other = await start();
    const first = await connect(other.url);
    expect(first.node.quarantine).toBeUndefined();
    is('granted', await on(first).try());
    // Every bucket has an epoch now, so later servers need no assertion.
    is('refused', await on(await connect(other.url, { storeIsNew: false })).try());
  });

  it('keeps leases and continues to grant after a restart with every write on disk', async () => {
    const redis = await start({ appendfsync: 'always' });
    const server = await connect(redis.url);
    const alice = on(server);
    const { fencingToken } = is('granted', await alice.try());
    await restart(redis, server);
    expect(server.node.quarantine).toBeUndefined();
    expect(is('granted', await alice.renew(alice.secret)).fencingToken).toBe(fencingToken);
    is('refused', await on(server).try());
    is('released', await alice.release(alice.secret));
    is('granted', await on(server).try());
  });

  it.each([
    ['appendfsync everysec', { appendfsync: 'everysec' }, 'yes'],
    ['no file', { args: ['--appendonly', 'no'] }, 'no'],
    ['every write on disk except during a rewrite', { args: ['--no-appendfsync-on-rewrite', 'yes'] }, 'yes'],
  ] as const)(
    'grants nothing after a restart with %s, but renews and releases the leases that are left',
    async (_, options, keeps) => {
      const redis = await start(options);
      const server = await connect(redis.url);
      const alice = on(server);
      is('granted', await alice.try());
      await restart(redis, server);
      await eventually('the quarantine', () => server.node.quarantine !== undefined);
      expect(server.node.quarantine?.cause).toBe(keeps === 'yes' ? 'restarted' : 'forgotten');
      await quarantined(on(server).try());
      if (keeps === 'yes') is('granted', await alice.renew(alice.secret));
      if (keeps === 'yes') is('released', await alice.release(alice.secret));
      else is('gone', await alice.renew(alice.secret));
      await quarantined(on(server).try());
      expect(server.node.warnings.join()).toMatch(/EndQuarantine/);
    },
  );

  it('grants nothing after a restart with data from before the previous run, even with every write on disk', async () => {
    const redis = await start({ appendfsync: 'always' });
    const server = await connect(redis.url);
    const epoch = (await redis.command('GET', 'test:{0}:epoch')) as string;
    await restart(redis, server);
    await eventually(
      'the new run to be adopted',
      async () => (await redis.command('GET', 'test:{0}:epoch')) !== epoch,
    );
    await server.node.epochs.adopt();
    // Redis restarts with an epoch from a file that the previous run did not write.
    await redis.command('SET', 'test:{0}:epoch', epoch);
    await restart(redis, server);
    await eventually('the quarantine', () => server.node.quarantine !== undefined);
    expect(server.node.quarantine?.cause).toBe('restarted');
  });

  it('grants nothing after a replica takes over, because the replica may lack the last writes', async () => {
    const quick = { args: ['--repl-diskless-sync-delay', '0'] };
    const [first, second] = [await start(quick), await start(quick)];
    await second.command('REPLICAOF', '127.0.0.1', first.port);
    const linked = async () =>
      /master_link_status:up/.test(String(await second.command('INFO', 'replication')));
    await eventually('the replica to have caught up', linked, { timeoutMs: 15_000 });
    const server = await connect(first.url);
    await eventually('the weaker durability in the epochs', async () =>
      / w /.test(String(await first.command('GET', 'test:{3}:epoch'))),
    );
    // A first replica causes no quarantine.
    expect(server.node.quarantine).toBeUndefined();
    is('granted', await on(server).try());
    await eventually(
      'the epochs to have come to the replica',
      async () => (await second.command('GET', 'test:{1023}:epoch')) !== null,
    );
    await second.command('REPLICAOF', 'NO', 'ONE');
    // This server has seen neither of the two runs.
    const other = await connect(second.url);
    expect(other.node.quarantine?.cause).toBe('restarted');
    await quarantined(on(other).try());
  });

  describe('because Redis was demoted to a replica and promoted again', () => {
    /** Starts a replica with all data of the first Redis, and makes it a master. */
    async function takeOver(first: RedisProcess): Promise<RedisProcess> {
      const second = await start();
      await second.command('REPLICAOF', '127.0.0.1', first.port);
      const hasAll = async () => (await second.command('GET', 'test:{1023}:epoch')) !== null;
      await eventually('the replica to have the epochs', hasAll, { timeoutMs: 15_000 });
      await second.command('REPLICAOF', 'NO', 'ONE');
      return second;
    }

    /** Makes Redis a replica of a master that does not answer. */
    const demote = (redis: RedisProcess) => redis.command('REPLICAOF', '127.0.0.1', 1);
    const promote = (redis: RedisProcess) => redis.command('REPLICAOF', 'NO', 'ONE');
    const quick = { appendfsync: 'always', args: ['--repl-diskless-sync-delay', '0'] } as const;

    it('grants nothing if the server saw neither change', async () => {
      const first = await start(quick);
      const before = await connect(first.url);
      before.close();
      const second = await takeOver(first);
      await demote(first);
      const meanwhile = await connect(second.url);
      await meanwhile.node.endQuarantine();
      is('granted', await on(meanwhile).try());
      meanwhile.close();
      await promote(first);
      const after = await connect(first.url);
      expect(after.node.quarantine?.cause).toBe('restarted');
      await quarantined(on(after).try());
    });

    it('grants nothing if the server was suspended during the changes, because the server probes before it grants', async () => {
      const first = await start(quick);
      const clock = new SteppingClock();
      const server = await connect(first.url, { clock });
      await takeOver(first);
      is('granted', await on(server).try());
      clock.held = [];
      await demote(first);
      await promote(first);
      clock.behindMs = -4000;
      await quarantined(on(server).try());
    });

    it('grants nothing if the connection stayed open, and keeps later leases in a restart with every write on disk', async () => {
      const first = await start(quick);
      const server = await connect(first.url);
      const epoch = await first.command('GET', 'test:{9}:epoch');
      await demote(first);
      await promote(first);
      await eventually('the quarantine', () => server.node.quarantine !== undefined);
      expect(server.node.quarantine?.cause).toBe('restarted');
      await quarantined(on(server).try());
      expect(await first.command('GET', 'test:{9}:epoch')).toMatch(
        new RegExp(`^${String(epoch).slice(0, 'L2:'.length + 40)}/[0-9a-f]{16} `),
      );
      await server.node.endQuarantine();
      const alice = on(server);
      is('granted', await alice.try());
      await restart(first, server);
      expect(server.node.quarantine).toBeUndefined();
      is('refused', await on(server).try());
    });
  });

  it('grants nothing after its address leads to another Redis that was already running', async () => {
    const [first, second] = [await start(), await start()];
    const proxy = await TcpProxy.open({ targetPort: first.port, protocol: 'tcp' });
    closers.push(() => proxy.close());
    const server = await connect(serverUrl(proxy.address));
    const epoch = (await first.command('GET', 'test:{3}:epoch')) as string;
    await sleep(3500); // Redis reports its uptime in whole seconds.
    await server.node.connection.probeNode();
    const keys = Array.from({ length: BUCKET_COUNT }, (_, bucket) => epochKey('test', bucket));
    await second.command('MSET', ...keys.flatMap((key) => [key, epoch]));
    proxy.leadTo(second.port);
    proxy.cutAll();
    await eventually('the quarantine', () => server.node.quarantine !== undefined, {
      timeoutMs: 10_000,
    });
    expect(server.node.quarantine?.cause).toBe('restarted');
  });

  it('starts a quarantine for all servers when a renewal detects FLUSHALL', async () => {
    const redis = await start({ appendfsync: 'no' });
    const [server, other] = [await connect(redis.url), await connect(redis.url)];
    const alice = on(server);
    is('granted', await alice.try());
    await redis.command('FLUSHALL');
    is('gone', await alice.renew(alice.secret));
    await eventually('the quarantine', () => server.node.quarantine !== undefined);
    expect(server.node.quarantine?.cause).toBe('forgotten');
    const before = await redis.command('GET', 'test:{5}:epoch');
    await quarantined(on(other).try());
    await eventually('the other server to know the quarantine', () => other.node.quarantine !== undefined);
    // The first quarantine applies to all buckets.
    expect(await redis.command('GET', 'test:{5}:epoch')).toBe(before);
    expect(
      Math.abs((other.node.quarantine?.remainingMs ?? 0) - (server.node.quarantine?.remainingMs ?? 0)),
    ).toBeLessThan(1500);
  });

  it('starts a quarantine at each server after FLUSHALL, although no command comes', async () => {
    const redis = await start({ appendfsync: 'no' });
    const servers = [await connect(redis.url), await connect(redis.url)];
    await redis.command('FLUSHALL');
    for (const { node } of servers) {
      await eventually('the quarantine', () => node.quarantine?.cause === 'forgotten');
      await quarantined(on(servers[0]!).try());
    }
    expect(await redis.command('EXISTS', 'test:{5}:epoch', 'test:{1023}:epoch')).toBe('2');
  });

  it('ends the quarantine after its time, for all servers', async () => {
    const redis = await start({ appendfsync: 'no' });
    const quick = { storeIsNew: false, quarantineMs: 2500 };
    const [server, other] = [await connect(redis.url, quick), await connect(redis.url, quick)];
    const changes: boolean[] = [];
    other.node.onChange(() => changes.push(other.node.quarantine !== undefined));
    expect((await failureOf(on(server).try())).kind).toBe('quarantined');
    await eventually('a grant', async () => {
      const reply = await on(server)
        .try()
        .catch((error: StoreFailure) => error);
      return 'fencingToken' in reply;
    });
    await eventually(
      'both servers to know the end',
      () => !server.node.quarantine && !other.node.quarantine && changes.includes(false),
    );
    expect(await redis.command('GET', 'test:{5}:epoch')).toMatch(/^L2:\w{40} w 2500 0$/);
  });

  it('ends the quarantine on EndQuarantine, for all servers', async () => {
    const redis = await start({ appendfsync: 'no' });
    const server = await connect(redis.url, { storeIsNew: false });
    const other = await connect(redis.url, { storeIsNew: false });
    const ended = await server.node.endQuarantine();
    expect(ended?.cause).toBe('forgotten');
    expect(ended?.remainingMs).toBeGreaterThan(QUARANTINE_MS - 10_000);
    expect(server.node.quarantine).toBeUndefined();
    is('granted', await on(other).try());
    await eventually('the other server to know the end', () => other.node.quarantine === undefined);
    expect(await server.node.endQuarantine()).toBeUndefined();
  });

  it('starts a quarantine after a restart if the last run had weaker settings at any time', async () => {
    const redis = await start({ appendfsync: 'always' });
    const server = await connect(redis.url);
    await redis.command('CONFIG', 'SET', 'appendfsync', 'everysec');
    const isWeak = async () => / w /.test(String(await redis.command('GET', 'test:{9}:epoch')));
    await eventually('the weaker durability in the epochs', isWeak);
    await redis.command('CONFIG', 'SET', 'appendfsync', 'always');
    await eventually('the warning to go', () => server.node.warnings.length === 0);
    expect(await isWeak()).toBe(true);
    is('granted', await on(server).try());
    await restart(redis, server);
    await eventually('the quarantine', () => server.node.quarantine !== undefined);
    await quarantined(on(server).try());
  });

  it('warns about settings that it may not read, and counts them as unsafe', async () => {
    const redis = await start({ appendfsync: 'always' });
    await redis.command('ACL', 'SETUSER', 'app', 'on', '>secret', '~*', '&*', '+@all', '-config');
    const server = await connect(`redis://app:secret@127.0.0.1:${redis.port}`);
    expect(server.node.warnings.join()).toMatch(/not readable/);
    expect(await redis.command('GET', 'test:{1}:epoch')).toMatch(/ w /);
    is('granted', await on(server).try());
  });

  describe('with leases of another layout', () => {
    const OTHER = { 'an earlier layout without a version': '', 'a later layout': 'L7:' };
    const epochKeys = Array.from({ length: BUCKET_COUNT }, (_, bucket) => epochKey('test', bucket));

    /** Makes the epochs as a server with another layout writes them. */
    async function replaceLayout(redis: RedisProcess, layout: string): Promise<void> {
      const epoch = String(await redis.command('GET', epochKey('test', 9)));
      const text = epoch.replace('L2:', layout);
      await redis.command('MSET', ...epochKeys.flatMap((key) => [key, text]));
    }

    it.each(Object.entries(OTHER))('is not ready, grants nothing and says why (%s)', async (_, layout) => {
      const redis = await start({ appendfsync: 'no' });
      const first = await connect(redis.url, { commandTimeoutMs: 20_000 });
      await replaceLayout(redis, layout);
      const server = await connect(redis.url, { commandTimeoutMs: 20_000 });
      for (const one of [server, first]) {
        const requester = on(one);
        for (const command of [
          () => requester.try(),
          () => requester.renew(requester.secret),
          () => requester.release(requester.secret),
          () => one.store.inspect(lock),
        ]) {
          expect(await failureOf(command())).toMatchObject({ carriedOut: 'no', kind: 'unavailable' });
        }
        expect(one.node.suitable).toBe(false);
        const number = layout === '' ? 0 : 7;
        expect(one.node.warnings.join()).toContain(
          `leases in layout ${number}, and this server reads layout 2`,
        );
      }
      expect(String(await redis.command('GET', epochKey('test', 9))).startsWith('L2:')).toBe(false);
    });

    it('is ready after the operator has deleted the epochs, and waits until all leases have ended', async () => {
      const redis = await start({ appendfsync: 'no' });
      await connect(redis.url, { commandTimeoutMs: 20_000 });
      await replaceLayout(redis, 'L7:');
      const server = await connect(redis.url, { commandTimeoutMs: 20_000 });
      expect(server.node.suitable).toBe(false);
      await redis.command('DEL', ...epochKeys);
      await eventually('the server to be ready', () => server.node.suitable);
      expect(server.node.quarantine?.cause).toBe('forgotten');
      await quarantined(on(server).try());
      await server.node.endQuarantine();
      is('granted', await on(server).try());
    });
  });

  it('grants nothing if it may not run INFO', async () => {
    const redis = await start({ appendfsync: 'no' });
    await redis.command('ACL', 'SETUSER', 'app', 'on', '>secret', '~*', '&*', '+@all', '-info');
    const server = await connect(`redis://app:secret@127.0.0.1:${redis.port}`);
    expect(server.node.suitable).toBe(false);
    expect(server.node.warnings.join()).toMatch(/INFO/);
    expect(await failureOf(on(server).try())).toMatchObject({ carriedOut: 'no', kind: 'unavailable' });
  });

  describe('and delays commands', () => {
    it('changes nothing by a late command after the caller was told that the outcome is unknown', async () => {
      const redis = await start({ appendfsync: 'no' });
      const server = await connect(redis.url, { commandTimeoutMs: 500 });
      const alice = on(server);
      await redis.stop();
      const asked = failureOf(alice.try());
      const failure = await asked;
      expect(failure.carriedOut).toBe('unknown');
      await sleep(300);
      await redis.cont();
      await eventually('the server to be back', () => server.node.reachable);
      // Redis ran the late command before this one.
      const bob = on(await connect(redis.url));
      is('granted', await bob.try());
    });

    it('repeats a command that Redis answered with STALE', async () => {
      const redis = await start({ appendfsync: 'no' });
      const proxy = await TcpProxy.open({ targetPort: redis.port, protocol: 'redis' });
      closers.push(() => proxy.close());
      const server = await connect(serverUrl(proxy.address));
      const { epochs } = server.node;
      const epochArguments = epochs.epochArguments.bind(epochs);
      let late = 2;
      epochs.epochArguments = (deadline, keys) => {
        const [epoch, notAfter] = epochArguments(deadline, keys) as [string, number];
        return [epoch, (late -= 1) >= 0 ? 1 : notAfter];
      };
      is('granted', await on(server).try());
      expect(late).toBeLessThan(0);
      expect(server.node.quarantine).toBeUndefined();
    });
  });

  /** Simulates a forward step of Redis's clock by a step back of the server's clock. */
  class SteppingClock implements Clock {
    behindMs = 0;
    /** If set, due timers are kept here and do not run, so that no probe reads the clock. */
    held: (() => void)[] | undefined;
    now(): number {
      return systemClock.now() - this.behindMs;
    }
    after(delayMs: number, run: () => void) {
      return systemClock.after(delayMs, () => (this.held ? this.held.push(run) : run()));
    }
  }

  describe('because its clock was set', () => {
    it('pauses grants after a step forward, because leases seem expired while clients still believe in them', async () => {
      const redis = await start({ appendfsync: 'no' });
      const clock = new SteppingClock();
      const server = await connect(redis.url, { clock });
      is('granted', await on(server).try());
      clock.behindMs = 10_000;
      // The next command detects the step before a probe does.
      const failure = await failureOf(on(server).try());
      expect(failure.kind).toBe('quarantined');
      expect(server.node.quarantine?.cause).toBe('clock');
      const other = await connect(redis.url);
      await quarantined(on(other).try());
      expect(other.node.quarantine?.cause).toBe('clock');
    });

    it('reports an unknown outcome of a grant after a small step of the clock forward', async () => {
      const redis = await start({ appendfsync: 'no' });
      const clock = new SteppingClock();
      const server = await connect(redis.url, { clock });
      clock.held = [];
      clock.behindMs = 500;
      const unlucky = on(server);
      expect((await failureOf(unlucky.try())).carriedOut).toBe('unknown');
      for (const run of clock.held.splice(0)) run();
      clock.held = undefined;
      await eventually('the quarantine', () => server.node.quarantine?.cause === 'clock');
      await quarantined(unlucky.try());
      is('withdrawn', await unlucky.giveBack());
    });

    it('starts a quarantine when a probe detects a small step forward', async () => {
      const redis = await start({ appendfsync: 'no' });
      const clock = new SteppingClock();
      const server = await connect(redis.url, { clock });
      clock.behindMs = 500;
      await eventually('the quarantine', () => server.node.quarantine?.cause === 'clock', {
        timeoutMs: 5000,
      });
    });

    it('starts no quarantine after a step back', async () => {
      const redis = await start({ appendfsync: 'no' });
      const clock = new SteppingClock();
      const server = await connect(redis.url, { clock });
      clock.behindMs = -5000;
      is('granted', await on(server, { ttlMs: 5000 }).try());
      await sleep(1500);
      is('refused', await on(server).try());
      expect(server.node.quarantine).toBeUndefined();
    });
  });
});
