import { type Clock, systemClock } from '../../src/base/clock';
import { StoreFailure } from '../../src/base/errors';
import { type EpochGuard, type GuardedReply, HIGH, UnreadableReply } from '../../src/redis/commands';
import { script } from '../../src/redis/script';
import { RedisConnection } from '../../src/redis/connection';
import { RECONNECT_PATIENCE_MS, safeOptions } from '../../src/redis/redis-client';
import type { RawReply, Reply } from '../../src/redis/script';
import { eventually } from '../support/eventually';
import { ManualClock } from '../support/manual-clock';
import { freePort } from '../support/processes/child-program';
import { RedisProcess } from '../support/processes/redis-process';
import { TcpProxy } from '../support/proxy/tcp-proxy';
import { failureOf } from '../support/reply-kinds';

const whole = (reply: Reply[], sentAt: number) => ({ reply, sentAt });

const COMMAND_TIMEOUT_MS = 600;
/** Long enough for a busy Redis to answer. */
const PAUSE_MS = 3 * COMMAND_TIMEOUT_MS;
const PROBE_INTERVAL_MS = 1000;
/** The connection checks the deadlines of its commands at this interval. */
const DEADLINE_CHECK_MS = 20;

/** Runs at a tenth of real time, so that every time limit lasts ten times as long on a busy machine. */
const slowClock: Clock = {
  now: () => systemClock.now() / 10,
  after: (delayMs, run) => systemClock.after(delayMs * 10, run),
};

const count = script("return {redis.call('INCR', KEYS[1])}");
const exact = script('return {ARGV[1], tonumber(ARGV[1]), {ARGV[2]}}');
const EXACT = { run: exact, keys: [], args: ['1', 'x'], read: whole };
const bytes = (reply: RawReply[]) => reply;

describe('RedisConnection', () => {
  let redis: RedisProcess;
  const opened: RedisConnection[] = [];
  beforeAll(async () => {
    redis = await RedisProcess.start();
  });
  afterEach(() => {
    for (const connection of opened.splice(0)) connection.close();
  });
  afterAll(() => redis.close());

  function open(endpoint: string, clock: Clock = slowClock, errors: string[] = []): RedisConnection {
    const connection = new RedisConnection({
      endpoint,
      commandTimeoutMs: COMMAND_TIMEOUT_MS,
      clock,
      onError: ({ message }) => errors.push(message),
    });
    opened.push(connection);
    return connection;
  }

  async function connect(url = redis.adminUrl, clock: Clock = slowClock): Promise<RedisConnection> {
    const connection = open(url, clock);
    await eventually('the connection', async () => {
      // A busy Redis is asked again after a pause, and only this line advances the manual clock.
      if (clock instanceof ManualClock && !connection.isReady) await clock.advance(10);
      return connection.isReady;
    });
    return connection;
  }

  const increment = async (connection: RedisConnection) =>
    Number((await connection.commands.send({ run: count, keys: ['n'], args: [], read: whole })).reply[0]);

  /** Waits until the check passes, while the connection probes its node. */
  const eventuallyWith = (clock: ManualClock, what: string, check: () => boolean) =>
    eventually(what, async () => {
      await clock.advance(PROBE_INTERVAL_MS);
      return check();
    });

  it('returns large numbers and any text exactly (chapter 27)', async () => {
    const connection = await connect();
    const text = 'ünï {}: \0 \u001b 😀';
    const args = ['9007199254740991', text];
    const { reply } = await connection.commands.send({ run: exact, keys: [], args, read: whole });
    expect(reply).toEqual(['9007199254740991', '9007199254740991', [text]]);
  });

  it('transfers arbitrary bytes unchanged, together with texts and numbers', async () => {
    const connection = await connect();
    const everyByte = Buffer.from(Uint8Array.from({ length: 1024 }, (_, i) => i % 256));
    const empty = Buffer.alloc(0);
    const echo = script('return {KEYS[1], ARGV[1], {ARGV[2], ARGV[3]}, ARGV[4], ARGV[5], false, 7}');
    await redis.command('SCRIPT', 'FLUSH');
    for (const reason of ['the script is not known', 'the script is known']) {
      const args = [everyByte, 'ünï 😀', new Uint8Array(everyByte), empty, 42];
      const reply = await connection.commands.send({
        run: echo,
        keys: ['kéy'],
        args,
        read: bytes,
        isRaw: true,
      });
      expect([reason, ...reply]).toEqual([
        reason,
        Buffer.from('kéy'),
        everyByte,
        [Buffer.from('ünï 😀'), everyByte],
        empty,
        Buffer.from('42'),
        null,
        '7',
      ]);
    }
    await redis.command('RPUSH', 'some bytes', everyByte, '1');
    const keys = ['some bytes'];
    const list = await connection.commands.send({
      run: 'LRANGE',
      keys,
      args: [0, -1],
      read: bytes,
      isRaw: true,
    });
    expect(list).toEqual([everyByte, Buffer.from('1')]);
  });

  it('runs scripts after SCRIPT FLUSH', async () => {
    const connection = await connect();
    const first = await increment(connection);
    await redis.command('SCRIPT', 'FLUSH');
    expect(await increment(connection)).toBe(first + 1);
    await redis.command('SCRIPT', 'FLUSH');
    const many = await Promise.all(Array.from({ length: 20 }, () => increment(connection)));
    expect(many.sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, i) => first + 2 + i));
  });

  it('answers every command and stays reachable despite CLIENT KILL', async () => {
    const connection = await connect();
    const changes: boolean[] = [];
    connection.onChange(() => changes.push(connection.reachable));
    for (let i = 0; i < 5; i += 1) {
      const underWay = Promise.all(Array.from({ length: 10 }, () => connection.commands.send(EXACT)));
      await redis.command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
      await underWay;
      await connection.commands.send(EXACT);
    }
    expect(changes).not.toContain(false);
  });

  it('fails commands as not carried out, and does so immediately after a second without a listener', async () => {
    const clock = new ManualClock();
    const connection = open(`redis://127.0.0.1:${await freePort()}`, clock);
    let isSettled = false;
    const first = failureOf(increment(connection)).finally(() => (isSettled = true));
    await clock.advance(COMMAND_TIMEOUT_MS - 1);
    expect(isSettled).toBe(false);
    await clock.advance(1);
    expect(await first).toMatchObject({ carriedOut: 'no', kind: 'unavailable' });
    await clock.advance(RECONNECT_PATIENCE_MS - COMMAND_TIMEOUT_MS);
    // The clock does not advance here, so this failure is immediate.
    expect((await failureOf(increment(connection))).carriedOut).toBe('no');
    const ready = expect(connection.ready(50)).rejects.toThrow(StoreFailure);
    await clock.advance(50);
    await ready;
    expect(connection.reachable).toBe(false);
  });

  it('reports an unknown outcome at the deadline of a command that a paused Redis received (chapter 27)', async () => {
    const clock = new ManualClock();
    const connection = await connect(redis.adminUrl, clock);
    const before = await increment(connection);
    await redis.stop();
    try {
      let isSettled = false;
      const failure = failureOf(increment(connection)).finally(() => (isSettled = true));
      await clock.advance(COMMAND_TIMEOUT_MS - 1);
      expect(isSettled).toBe(false);
      await clock.advance(1 + DEADLINE_CHECK_MS);
      expect(await failure).toMatchObject({ carriedOut: 'unknown', kind: 'unavailable' });
      await eventuallyWith(clock, 'Redis to be unreachable', () => !connection.reachable);
    } finally {
      await redis.cont();
    }
    await eventuallyWith(clock, 'Redis to be reachable', () => connection.reachable);
    // Redis ran the command late, once.
    expect(await increment(connection)).toBe(before + 2);
  });

  it('fails a command as not carried out if the memory of Redis is full', async () => {
    const connection = await connect();
    await increment(connection);
    const strict = script("#!lua\nreturn {redis.call('INCR', KEYS[1])}");
    await redis.command('CONFIG', 'SET', 'maxmemory', '1mb');
    try {
      const failure = await failureOf(
        connection.commands.send({ run: strict, keys: ['n'], args: [], read: whole }),
      );
      expect(failure).toMatchObject({ carriedOut: 'no', kind: 'full' });
    } finally {
      await redis.command('CONFIG', 'SET', 'maxmemory', '0');
    }
  });

  it('fails a script as not carried out if Redis refuses it before its first line', async () => {
    const other = await RedisProcess.start();
    const connection = await connect(other.adminUrl);
    await increment(connection);
    const strict = script("#!lua\nreturn {redis.call('INCR', KEYS[1])}");
    await other.command('REPLICAOF', '127.0.0.1', String(await freePort()));
    const readOnly = await failureOf(
      connection.commands.send({ run: strict, keys: ['n'], args: [], read: whole }),
    );
    expect(readOnly).toMatchObject({ carriedOut: 'no', kind: 'unavailable' });
    await other.command('REPLICAOF', 'NO', 'ONE');

    await other.command('CONFIG', 'SET', 'busy-reply-threshold', '10');
    const forEver = other.command('EVAL', 'while true do end', 0).catch(() => undefined);
    const busy = await failureOf(increment(connection));
    expect(busy).toMatchObject({ carriedOut: 'no', kind: 'unavailable' });
    await other.kill();
    await other.close();
    await forEver;
  });

  describe('keeps its connection and reports Redis as unreachable while PING is refused with', () => {
    let other: RedisProcess;
    beforeAll(async () => {
      other = await RedisProcess.start({ args: ['--enable-protected-configs', 'yes'] });
    });
    afterAll(() => other.close());

    /** How the refusal begins, and how it ends. */
    const refusals: [string, () => Promise<unknown>, () => Promise<unknown>][] = [
      [
        'MISCONF',
        async () => {
          // No snapshot can be written to /proc, and Redis with snapshots then refuses writes.
          await other.command('CONFIG', 'SET', 'save', '3600 1', 'dir', '/proc');
          await other.command('BGSAVE');
          await eventually('the snapshot to fail', async () =>
            String(await other.command('INFO', 'persistence')).includes('rdb_last_bgsave_status:err'),
          );
        },
        () => other.command('CONFIG', 'SET', 'stop-writes-on-bgsave-error', 'no'),
      ],
      [
        'BUSY',
        async () => {
          await other.command('CONFIG', 'SET', 'busy-reply-threshold', '10');
          const forEver = script('while true do end');
          (await connect(other.adminUrl)).commands
            .send({ run: forEver, keys: [], args: [], read: whole })
            .catch(() => undefined);
        },
        () => other.command('SCRIPT', 'KILL'),
      ],
    ];
    it.each(refusals)('%s', async (word, begin, end) => {
      const proxy = await TcpProxy.open({ targetPort: other.port, protocol: 'tcp' });
      const connection = await connect(`redis://${proxy.address}`, systemClock);
      await eventually('Redis to be reachable', () => connection.reachable);
      try {
        await begin();
        await eventually('PING to be refused', () =>
          other.command('PING').then(
            () => false,
            (error: Error) => error.message.startsWith(word),
          ),
        );
        // Redis may still answer scripts that only read, before and after it refuses PING.
        await eventually(
          'Redis to be unreachable',
          async () => {
            await connection.commands.send(EXACT).catch(() => undefined);
            return !connection.reachable;
          },
          { everyMs: 0 },
        );
      } finally {
        await end();
      }
      await eventually('Redis to be reachable again', () => connection.reachable);
      expect(proxy.connectionCount).toBe(1);
      connection.close();
      await proxy.close();
    });
  });

  it("rejects with a plain Error, not with a StoreFailure, on a script's own error", async () => {
    const connection = await connect();
    const broken = script("return redis.call('NO-SUCH-COMMAND')");
    const error: unknown = await connection.commands
      .send({ run: broken, keys: [], args: [], read: whole })
      .catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(Error);
    expect(error).not.toBeInstanceOf(StoreFailure);
  });

  it('fails only the caller of an unreadable reply, and repeats no command (chapter 27)', async () => {
    const connection = await connect();
    const before = await increment(connection);
    const unreadable = () => {
      throw new RangeError('no number');
    };
    const calls = Array.from({ length: 9 }, (_, index) =>
      connection.commands.send({
        run: count,
        keys: ['n'],
        args: [],
        read: index % 3 === 0 ? unreadable : whole,
      }),
    );
    const outcomes = await Promise.allSettled(calls);
    for (const [index, outcome] of outcomes.entries()) {
      if (index % 3 === 0) expect(outcome).toMatchObject({ reason: { cause: { message: 'no number' } } });
      else expect(outcome).toMatchObject({ value: { reply: [String(before + 1 + index)] } });
    }
    expect(await increment(connection)).toBe(before + 10);
  });

  it('lets commands wait for a Redis that is killed and restarts within a second', async () => {
    const other = await RedisProcess.start();
    const connection = await connect(other.adminUrl);
    expect(await increment(connection)).toBe(1);
    await other.kill();
    const answer = increment(connection);
    await other.restart();
    expect(await answer).toBe(2);
    connection.close();
    await other.close();
  });

  it('lets commands wait for a lost Redis for a second at most, and then reports Redis as unreachable', async () => {
    const clock = new ManualClock();
    const other = await RedisProcess.start();
    const connection = await connect(other.adminUrl, clock);
    await other.close();
    await eventually('the connection to be lost', () => !connection.isReady);
    await clock.advance(COMMAND_TIMEOUT_MS);
    let isSettled = false;
    const failure = failureOf(increment(connection)).finally(() => (isSettled = true));
    await clock.advance(RECONNECT_PATIENCE_MS - COMMAND_TIMEOUT_MS - 1);
    expect({ isSettled, reachable: connection.reachable }).toEqual({ isSettled: false, reachable: true });
    await clock.advance(1);
    expect((await failure).carriedOut).toBe('no');
    expect(connection.reachable).toBe(false);
  });

  it('tries to connect at least every 100 ms while commands wait for the connection', () => {
    const { retryStrategy } = safeOptions(COMMAND_TIMEOUT_MS);
    let waitedMs = 0;
    let attempt = 1;
    for (; waitedMs < RECONNECT_PATIENCE_MS; attempt += 1) {
      expect(retryStrategy(attempt)).toBeLessThanOrEqual(100);
      waitedMs += retryStrategy(attempt);
    }
    expect(retryStrategy(attempt + 1)).toBe(500);
  });

  it('stays reachable and lets commands wait if a ping is sent on a connection that has just ended', async () => {
    const probes: (() => void)[] = [];
    const clock: Clock = {
      now: () => slowClock.now(),
      after: (delayMs, run) => {
        if (delayMs !== PROBE_INTERVAL_MS) return slowClock.after(delayMs, run);
        probes.push(run);
        return { cancel: () => undefined };
      },
    };
    const connection = await connect(redis.adminUrl, clock);
    const changes: boolean[] = [];
    connection.onChange(() => changes.push(connection.reachable));
    const { client } = connection;
    const ping = jest.spyOn(client, 'ping');
    client.stream.destroy();
    // The status in ioredis stays 'ready' until the event 'close', but ioredis writes nothing to the socket.
    expect(client.status).toBe('ready');
    probes[0]?.();
    await increment(connection);
    expect(ping).toHaveBeenCalled();
    expect(changes).not.toContain(false);
  });

  it('keeps its connection and fails no command when its process pauses for longer than the command timeout', async () => {
    const connection = await connect(redis.adminUrl, systemClock);
    const changes: boolean[] = [];
    connection.onChange(() => changes.push(connection.reachable));
    const { client } = connection;
    const { stream } = client;
    const before = await increment(connection);
    const ping = client.ping.bind(client);
    const [command, pinged] = await new Promise<[Promise<number>, Promise<unknown>]>((resolve) => {
      jest.spyOn(client, 'ping').mockImplementationOnce(async () => {
        const incremented = increment(connection);
        // The command leaves in the next immediate, which is before this one. Redis answers both during the pause.
        await new Promise(setImmediate);
        const answer = ping();
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
        resolve([incremented, answer]);
        return answer;
      });
    });
    await expect(pinged).rejects.toThrow('timed out');
    expect(await command).toBe(before + 1);
    await connection.probeNode();
    expect(client.stream).toBe(stream);
    expect(changes).toEqual([]);
  });

  it('never becomes ready for a database that Redis does not have', async () => {
    const errors: string[] = [];
    const connection = open(`${redis.adminUrl}/99`, systemClock, errors);
    await eventually('another attempt', () => errors.length > 1);
    expect(errors).toContain('ERR DB index is out of range');
    expect(connection.isReady).toBe(false);
  });

  describe('with an epoch guard', () => {
    const guarded = script("return {'DONE', '0', 'value'}");

    /** Rejects the first epoch checks, as a lost connection does. */
    function guardThatFails(times: number) {
      const guard: EpochGuard & { checks: number } = {
        checks: 0,
        epochArguments: () => [],
        epochCheck: () => {
          guard.checks += 1;
          return guard.checks > times ? undefined : Promise.reject(new StoreFailure('no', 'unavailable'));
        },
      };
      return guard;
    }

    it('repeats a command if the epoch check fails', async () => {
      const connection = await connect();
      const guard = guardThatFails(2);
      const values = await connection.commands.send({
        run: guarded,
        keys: [],
        args: [],
        read: (reply) => reply.values,
        guard,
        turn: HIGH,
      });
      expect(values).toEqual(['value']);
      expect(guard.checks).toBe(3);
    });

    it('reads a reply without its direct grants if they are in doubt, and fails a grant that is in doubt', async () => {
      const connection = await connect();
      const run = (word: string, kind: 'in doubt' | 'without grants') =>
        connection.commands.send({
          run: script(
            `return {'${word}', {0, {'request id', {'id', 's1.1', '1', '1', 'secret', '1'}}, 0, 0}}`,
          ),
          keys: [],
          args: [],
          read: (reply: GuardedReply) => reply,
          guard: { epochArguments: () => [], epochCheck: () => Promise.resolve({ kind }) },
          turn: HIGH,
        });
      expect(await run('RELEASED', 'without grants')).toMatchObject({
        word: 'RELEASED',
        news: ['request id'],
      });
      await expect(run('GRANTED', 'in doubt')).rejects.toMatchObject({
        carriedOut: 'unknown',
        kind: 'quarantined',
      });
    });

    it.each([
      ['nothing', 'return nil'],
      ['a number', 'return 1'],
      ['too few values', "return {'DONE'}"],
    ])('fails a command if a script answers %s, and frees its place in the window', async (_, text) => {
      const connection = await connect();
      for (let time = 0; time < 100; time += 1) {
        const run = connection.commands.send({
          run: script(text),
          keys: [],
          args: [],
          read: (reply: GuardedReply) => reply,
          guard: guardThatFails(0),
          turn: HIGH,
        });
        await expect(run).rejects.toThrow(UnreadableReply);
      }
    });

    it('fails a command at its deadline if every epoch check fails', async () => {
      const connection = await connect(redis.adminUrl, systemClock);
      const guard = guardThatFails(Infinity);
      const run = connection.commands.send({
        run: guarded,
        keys: [],
        args: [],
        read: (reply) => reply.values,
        guard,
        turn: HIGH,
      });
      expect(await failureOf(run)).toMatchObject({ carriedOut: 'no', kind: 'unavailable' });
      expect(guard.checks).toBeGreaterThan(1);
    });
  });

  it('closes a half-open connection, and works again over a new connection (chapter 27)', async () => {
    const clock = new ManualClock();
    const proxy = await TcpProxy.open({ targetPort: redis.port, protocol: 'tcp' });
    const connection = await connect(`redis://${proxy.address}`, clock);
    await connection.commands.send(EXACT);
    proxy.blackHole('both');
    const failure = failureOf(increment(connection));
    await clock.advance(COMMAND_TIMEOUT_MS + DEADLINE_CHECK_MS);
    expect((await failure).carriedOut).toBe('unknown');
    await eventuallyWith(clock, 'a new connection attempt', () => proxy.connectionCount > 1);
    proxy.cutAll();
    proxy.passEverything();
    await eventuallyWith(clock, 'the connection to be ready', () => connection.isReady);
    await connection.commands.send(EXACT);
    connection.close();
    await proxy.close();
  });

  it('fails commands immediately after its close', async () => {
    const clock = new ManualClock();
    const connection = await connect(redis.adminUrl, clock);
    connection.close();
    expect((await failureOf(increment(connection))).carriedOut).toBe('no');
  });

  describe('warns', () => {
    const configured: [string, string, string, RegExp, boolean][] = [
      ['about leases that a crash may forget', 'appendfsync', 'everysec', /appendfsync is everysec/, true],
      ['about leases that a restart forgets', 'appendonly', 'no', /appendonly is off/, true],
      [
        'about leases that may be evicted, and is unsuitable',
        'maxmemory-policy',
        'allkeys-lru',
        /noeviction/,
        false,
      ],
    ];
    it.each(configured)('%s', async (_, option, value, sentence, suitable) => {
      expect((await connect()).warnings).toEqual([]);
      const [, usual] = (await redis.command('CONFIG', 'GET', option)) as [string, string];
      await redis.command('CONFIG', 'SET', option, value);
      try {
        const connection = await connect();
        expect(connection.warnings).toEqual([expect.stringMatching(sentence)]);
        expect(connection.suitable).toBe(suitable);
      } finally {
        await redis.command('CONFIG', 'SET', option, usual);
      }
    });

    it('about settings that it may not read', async () => {
      await redis.command('ACL', 'SETUSER', 'app', 'on', '>secret', '~*', '&*', '+@all', '-config');
      const connection = await connect(`redis://app:secret@127.0.0.1:${redis.port}`);
      expect(connection.warnings).toEqual([expect.stringMatching(/appendfsync is not readable/)]);
    });
  });
});
