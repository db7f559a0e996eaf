import { systemClock } from '../../src/engine/clock';
import { StoreFailure } from '../../src/engine/errors';
import { RedisConnection } from '../../src/redis/connection/connection';
import { script } from '../../src/redis/connection/operation';
import type { Reply } from '../../src/redis/connection/script-command';
import { eventually } from '../support/eventually';
import { freePort } from '../support/processes/free-port';
import { TcpProxy } from '../support/proxy/tcp-proxy';
import { RedisProcess } from '../support/processes/redis-process';

/** Everything that a script answered. */
const whole = (reply: Reply[], sentAt: number) => ({ reply, sentAt });

const COMMAND_TIMEOUT_MS = 600;
/** What a loaded machine may add to a time. */
const SLACK_MS = 400;

const count = script("return {redis.call('INCR', KEYS[1])}");
const exact = script('return {ARGV[1], tonumber(ARGV[1]), {ARGV[2]}}');

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

  function open(url: string): RedisConnection {
    const connection = new RedisConnection({
      endpoint: url,
      commandTimeoutMs: COMMAND_TIMEOUT_MS,
      clock: systemClock,
      onError: () => undefined,
    });
    opened.push(connection);
    return connection;
  }

  async function connect(url = redis.url): Promise<RedisConnection> {
    const connection = open(url);
    await connection.ready(5000);
    return connection;
  }

  const increment = async (connection: RedisConnection) =>
    Number((await connection.commands.run(count, ['n'], [], whole)).reply[0]);

  async function failureOf(promise: Promise<unknown>): Promise<{ failure: StoreFailure; tookMs: number }> {
    const start = performance.now();
    const failure: unknown = await promise.then(
      () => undefined,
      (error: unknown) => error,
    );
    if (!(failure instanceof StoreFailure))
      throw new Error(`expected a StoreFailure, got ${String(failure)}`);
    return { failure, tookMs: performance.now() - start };
  }

  it('returns large numbers and any text exactly (chapter 27)', async () => {
    const connection = await connect();
    const text = 'ünï {}: \0 \u001b 😀';
    const { reply } = await connection.commands.run(exact, [], ['9007199254740991', text], whole);
    expect(reply).toEqual(['9007199254740991', '9007199254740991', [text]]);
  });

  it('carries bytes that are no text as they are, beside texts and numbers', async () => {
    const connection = await connect();
    const everyByte = Buffer.from(Uint8Array.from({ length: 1024 }, (_, i) => i % 256));
    const empty = Buffer.alloc(0);
    const echo = script('return {KEYS[1], ARGV[1], {ARGV[2], ARGV[3]}, ARGV[4], ARGV[5], false, 7}');
    await redis.command('SCRIPT', 'FLUSH');
    for (const reason of ['the script is not known', 'the script is known']) {
      const args = [everyByte, 'ünï 😀', new Uint8Array(everyByte), empty, 42];
      const reply = await connection.commands.runRaw(echo, ['kéy'], args, (answer) => answer);
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
    const list = await connection.commands.query('LRANGE', ['some bytes', 0, -1], (answer) => answer);
    expect(list).toEqual([everyByte, Buffer.from('1')]);
  });

  it('does not notice SCRIPT FLUSH', async () => {
    const connection = await connect();
    const first = await increment(connection);
    await redis.command('SCRIPT', 'FLUSH');
    expect(await increment(connection)).toBe(first + 1);
    await redis.command('SCRIPT', 'FLUSH');
    const many = await Promise.all(Array.from({ length: 20 }, () => increment(connection)));
    expect(many.sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, i) => first + 2 + i));
  });

  it('does not notice CLIENT KILL, and health does not either', async () => {
    const connection = await connect();
    const changes: boolean[] = [];
    connection.onChange(() => changes.push(connection.reachable));
    for (let i = 0; i < 5; i += 1) {
      const underWay = Promise.all(
        Array.from({ length: 10 }, () => connection.commands.run(exact, [], ['1', 'x'], whole)),
      );
      await redis.command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
      await underWay;
      await connection.commands.run(exact, [], ['1', 'x'], whole);
    }
    expect(changes).not.toContain(false);
  });

  it('says soon, and at once the next time, that nobody listens: certainly not carried out', async () => {
    const connection = open(`redis://127.0.0.1:${await freePort()}`);
    const first = await failureOf(increment(connection));
    expect(first.failure).toMatchObject({ carriedOut: 'no', kind: 'unavailable' });
    expect(first.tookMs).toBeLessThan(1000 + SLACK_MS);
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, 1000 - first.tookMs)));
    const second = await failureOf(increment(connection));
    expect(second.failure.carriedOut).toBe('no');
    expect(second.tookMs).toBeLessThan(SLACK_MS);
    await expect(connection.ready(50)).rejects.toThrow(StoreFailure);
    expect(connection.reachable).toBe(false);
  });

  it('does not know what became of a command that a stopped Redis was sent, and says so in time (chapter 27)', async () => {
    const connection = await connect();
    const before = await increment(connection);
    await redis.stop();
    try {
      const { failure, tookMs } = await failureOf(increment(connection));
      expect(failure).toMatchObject({ carriedOut: 'unknown', kind: 'unavailable' });
      expect(tookMs).toBeGreaterThanOrEqual(COMMAND_TIMEOUT_MS - 5);
      expect(tookMs).toBeLessThan(COMMAND_TIMEOUT_MS + SLACK_MS);
      await eventually('health to say so', () => !connection.reachable);
    } finally {
      await redis.cont();
    }
    await eventually('health to say that it is back', () => connection.reachable);
    // It was carried out, late, once.
    expect(await increment(connection)).toBe(before + 2);
  });

  it('tells a full memory apart: nothing was done', async () => {
    const connection = await connect();
    await increment(connection);
    const strict = script("#!lua\nreturn {redis.call('INCR', KEYS[1])}");
    await redis.command('CONFIG', 'SET', 'maxmemory', '1mb');
    try {
      const { failure } = await failureOf(connection.commands.run(strict, ['n'], [], whole));
      expect(failure).toMatchObject({ carriedOut: 'no', kind: 'full' });
    } finally {
      await redis.command('CONFIG', 'SET', 'maxmemory', '0');
    }
  });

  it('takes a refusal in front of the first line as not carried out', async () => {
    const other = await RedisProcess.start();
    const connection = await connect(other.url);
    await increment(connection);
    const strict = script("#!lua\nreturn {redis.call('INCR', KEYS[1])}");
    await other.command('REPLICAOF', '127.0.0.1', String(await freePort()));
    const readOnly = await failureOf(connection.commands.run(strict, ['n'], [], whole));
    expect(readOnly.failure).toMatchObject({ carriedOut: 'no', kind: 'unavailable' });
    await other.command('REPLICAOF', 'NO', 'ONE');

    await other.command('CONFIG', 'SET', 'busy-reply-threshold', '10');
    const forEver = other.command('EVAL', 'while true do end', 0).catch(() => undefined);
    const busy = await failureOf(increment(connection));
    expect(busy.failure).toMatchObject({ carriedOut: 'no', kind: 'unavailable' });
    await other.kill();
    await other.close();
    await forEver;
  });

  describe('takes a refused PING for a Redis that is there and takes no commands: the connection stays, health says so', () => {
    let other: RedisProcess;
    beforeAll(async () => {
      other = await RedisProcess.start({ args: ['--enable-protected-configs', 'yes'] });
    });
    afterAll(() => other.close());

    /** How a Redis comes to refuse, and how it ends. */
    const refusals: [string, () => Promise<unknown>, () => Promise<unknown>][] = [
      [
        'MISCONF',
        async () => {
          // No snapshot can be written there, which Redis minds if it is told to make some.
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
          (await connect(other.url)).commands.run(forEver, [], [], whole).catch(() => undefined);
        },
        () => other.command('SCRIPT', 'KILL'),
      ],
    ];
    it.each(refusals)('%s', async (word, begin, end) => {
      const proxy = await TcpProxy.open({ targetPort: other.port, protocol: 'tcp' });
      const connection = await connect(`redis://${proxy.address}`);
      await eventually('health to be good', () => connection.reachable);
      try {
        await begin();
        await eventually('PING to be refused', () =>
          other.command('PING').then(
            () => false,
            (error: Error) => error.message.startsWith(word),
          ),
        );
        // What only reads may be answered still, before and after the PING is refused.
        await eventually(
          'health to say so',
          async () => {
            await connection.commands.run(exact, [], ['1', 'x'], whole).catch(() => undefined);
            return !connection.reachable;
          },
          { everyMs: 0 },
        );
      } finally {
        await end();
      }
      await eventually('health to say that it is back', () => connection.reachable);
      expect(proxy.connectionCount).toBe(1);
      connection.close();
      await proxy.close();
    });
  });

  it("passes a script's own error on as the defect it is", async () => {
    const connection = await connect();
    const broken = script("return redis.call('NO-SUCH-COMMAND')");
    const error: unknown = await connection.commands
      .run(broken, [], [], whole)
      .catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(Error);
    expect(error).not.toBeInstanceOf(StoreFailure);
  });

  it('tells of a reply that cannot be read its own caller alone, and sends nothing again (chapter 27)', async () => {
    const connection = await connect();
    const before = await increment(connection);
    const unreadable = () => {
      throw new RangeError('no number');
    };
    const calls = Array.from({ length: 9 }, (_, index) =>
      connection.commands.run(count, ['n'], [], index % 3 === 0 ? unreadable : whole),
    );
    const outcomes = await Promise.allSettled(calls);
    for (const [index, outcome] of outcomes.entries()) {
      if (index % 3 === 0) expect(outcome).toMatchObject({ reason: { cause: { message: 'no number' } } });
      else expect(outcome).toMatchObject({ value: { reply: [String(before + 1 + index)] } });
    }
    expect(await increment(connection)).toBe(before + 10);
  });

  it('waits for a Redis that is killed and comes back within a second, and sends again', async () => {
    const other = await RedisProcess.start();
    const connection = await connect(other.url);
    expect(await increment(connection)).toBe(1);
    await other.kill();
    const answer = increment(connection);
    await other.restart();
    expect(await answer.catch(() => increment(connection))).toBe(2);
    await other.close();
    const { failure } = await failureOf(increment(connection));
    expect(failure.carriedOut).toBe('no');
    await eventually('health to say so', () => !connection.reachable);
  });

  it('gives up a half-open connection, and works again over a new one (chapter 27)', async () => {
    const proxy = await TcpProxy.open({ targetPort: redis.port, protocol: 'tcp' });
    const connection = await connect(`redis://${proxy.address}`);
    await connection.commands.run(exact, [], ['1', 'x'], whole);
    proxy.blackHole('both');
    const { failure, tookMs } = await failureOf(increment(connection));
    expect(failure.carriedOut).toBe('unknown');
    expect(tookMs).toBeLessThan(COMMAND_TIMEOUT_MS + SLACK_MS);
    await eventually('a new connection to be tried', () => proxy.connectionCount > 1);
    proxy.cutAll();
    proxy.passEverything();
    await eventually('it to answer', () =>
      connection.commands.run(exact, [], ['1', 'x'], whole).then(() => true),
    );
    connection.close();
    await proxy.close();
  });

  it('rejects at once after it was closed', async () => {
    const connection = await connect();
    connection.close();
    const { failure, tookMs } = await failureOf(increment(connection));
    expect(failure.carriedOut).toBe('no');
    expect(tookMs).toBeLessThan(SLACK_MS);
  });

  describe('warns', () => {
    const configured: [string, string, string, RegExp, boolean][] = [
      ['of leases that a crash may forget', 'appendfsync', 'everysec', /appendfsync is everysec/, true],
      ['of leases that a restart forgets', 'appendonly', 'no', /appendonly is off/, true],
      [
        'of leases that are evicted, and is not suitable',
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

    it('of what it may not read, for it counts as unsafe', async () => {
      await redis.command('ACL', 'SETUSER', 'app', 'on', '>secret', '~*', '&*', '+@all', '-config');
      const connection = await connect(`redis://app:secret@127.0.0.1:${redis.port}`);
      expect(connection.warnings).toEqual([expect.stringMatching(/appendfsync is not readable/)]);
    });
  });
});
