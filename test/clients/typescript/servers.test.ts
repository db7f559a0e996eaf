import { status } from '@grpc/grpc-js';
import { connect, CredentialError } from '../../../clients/typescript';
import { attemptMs, timeoutOf } from '../../../clients/typescript/calls/call-options';
import { isBroken, Repetition } from '../../../clients/typescript/calls/repetition';
import { LookUps, Servers, textOf } from '../../../clients/typescript/connection/servers';
import { isLoopback } from '../../../clients/typescript/connection/transport-security';
import { errorOf, type HoldfastError } from '../../../clients/typescript/errors';
import { toMs } from '../../../clients/typescript/time-span';

describe('the servers of a client', () => {
  const never = new AbortController().signal;

  /** The servers, and what each name means. Undefined: the name is not found. */
  function namedServers(given: readonly string[], found: { now: readonly string[] | undefined }): Servers {
    const lookUp = () =>
      found.now ? Promise.resolve(found.now) : Promise.reject(new Error('the name is not found'));
    return new Servers(given, undefined, new LookUps(lookUp));
  }

  async function take(servers: Servers, count: number): Promise<(string | undefined)[]> {
    const taken = [];
    for (let turn = 0; turn < count; turn++) taken.push((await servers.next(never)).server.address);
    return taken;
  }

  test('each address of a name has its turn, and the families take turns', async () => {
    const found = { now: ['10.0.0.1', '10.0.0.2', 'fd00::1', '10.0.0.1'] };
    const servers = namedServers(['servers.test:7'], found);
    const first = await take(servers, 3);
    expect(await take(servers, 3)).toEqual(first);
    expect(first[1]).toBe('[fd00::1]:7');
    expect([...first].sort()).toEqual(['10.0.0.1:7', '10.0.0.2:7', '[fd00::1]:7']);
  });

  test('a name is looked up anew, and keeps its addresses while it is not found', async () => {
    const found: Parameters<typeof namedServers>[1] = { now: ['10.0.0.1'] };
    const servers = namedServers(['servers.test:7'], found);
    await take(servers, 5);
    found.now = ['10.0.0.1', '10.0.0.9'];
    expect(await take(servers, 2)).toEqual(['10.0.0.9:7', '10.0.0.1:7']);
    found.now = undefined;
    expect(await take(servers, 1)).toEqual(['10.0.0.9:7']);
    found.now = [];
    expect(await take(servers, 1)).toEqual(['10.0.0.1:7']);
    found.now = ['10.0.0.3'];
    expect(await take(servers, 2)).toEqual(['10.0.0.3:7', '10.0.0.3:7']);
    expect(servers.count).toBe(1);
  });

  test('a name without an address is left to gRPC, as are addresses and localhost', async () => {
    const given = ['servers.test:7', '[::1]:8', 'localhost:9', '10.1.1.1:10'];
    const servers = namedServers(given, { now: undefined });
    for (const one of [...given, ...given])
      expect((await servers.next(never)).server).toEqual({ given: one });
  });

  describe('a look-up that hangs', () => {
    let begun: string[];
    let answers: ((found: string[]) => void)[];
    let servers: Servers;

    beforeEach(() => {
      jest.useFakeTimers();
      [begun, answers] = [[], []];
      const lookUp = (host: string) => {
        begun.push(host);
        return new Promise<string[]>((resolve) => answers.push(resolve));
      };
      servers = new Servers(['a.test:7', 'b.test:7', 'c.test:7'], undefined, new LookUps(lookUp));
    });
    afterEach(() => jest.useRealTimers());

    test('keeps a connection waiting for 1 s and the next ones not at all, and serves a later one', async () => {
      let takenCount = 0;
      const one = () => servers.next(never).then(({ server }) => [++takenCount, textOf(server)]);
      const first = one();
      await jest.advanceTimersByTimeAsync(999);
      expect(takenCount).toBe(0);
      await jest.advanceTimersByTimeAsync(1);
      expect([await first, await one()]).toEqual([
        [1, 'a.test:7'],
        [2, 'b.test:7'],
      ]);
      answers[0]?.(['10.0.0.1']);
      await jest.advanceTimersByTimeAsync(0);
      const third = one();
      await jest.advanceTimersByTimeAsync(1000);
      expect(await third).toEqual([3, 'a.test:7 at 10.0.0.1:7']);
    });

    test('has at most one other beside it, and runs once for all connections of a client', async () => {
      const calls = servers.again();
      const taken = Promise.all([servers.next(never), calls.next(never), servers.next(never)]);
      await jest.advanceTimersByTimeAsync(1000);
      await taken;
      expect(begun).toEqual(['a.test', 'b.test']);
      answers[0]?.([]);
      await jest.advanceTimersByTimeAsync(0);
      expect(begun).toEqual(['a.test', 'b.test', 'c.test']);
    });

    test('ends with the client for whoever waits, and leaves no timer', async () => {
      const closing = new AbortController();
      const waits = servers.next(closing.signal);
      await jest.advanceTimersByTimeAsync(10);
      closing.abort();
      await waits;
      expect(jest.getTimerCount()).toBe(0);
    });
  });

  test('the addresses that are left are those of the first round, and then all', async () => {
    const servers = namedServers(['servers.test:7', '127.0.0.1:8'], { now: ['10.0.0.1', '10.0.0.2'] });
    const left = [];
    for (let turn = 0; turn < 4; turn++) left.push((await servers.next(never)).leftCount);
    expect(left).toEqual([3, 2, 1, 3]);
  });

  test('other connections begin with the server that was taken last', async () => {
    const servers = namedServers(['a.test:1', '10.0.0.8:2', '10.0.0.9:3'], { now: undefined });
    await servers.next(never);
    const { server } = await servers.next(never);
    const calls = servers.again();
    const taken = [];
    for (let turn = 0; turn < 4; turn++) taken.push((await calls.next(never)).server.given);
    expect(taken).toEqual(['10.0.0.8:2', '10.0.0.9:3', 'a.test:1', server.given]);
  });

  describe('behind a proxy', () => {
    const names = ['grpc_proxy', 'https_proxy', 'http_proxy', 'no_grpc_proxy', 'no_proxy'];
    const before = names.map((name) => process.env[name]);
    beforeEach(() => names.forEach((name) => delete process.env[name]));
    afterEach(() =>
      names.forEach((name, at) => {
        if (before[at] === undefined) delete process.env[name];
        else process.env[name] = before[at];
      }),
    );

    test.each([
      [{ http_proxy: 'http://proxy:3128' }, undefined],
      [{ grpc_proxy: 'http://proxy:3128', no_proxy: 'other.test,.test' }, '10.0.0.1:7'],
      [{ https_proxy: 'http://proxy:3128', no_grpc_proxy: 'other.test', no_proxy: '.test' }, undefined],
    ])('a name is left to the proxy, unless the environment leaves it out: %j', async (env, address) => {
      Object.assign(process.env, env);
      expect(await take(namedServers(['servers.test:7'], { now: ['10.0.0.1'] }), 1)).toEqual([address]);
    });
  });
});

describe('the security of a transport', () => {
  test.each(['localhost:1', '127.0.0.1:1', '127.9.9.9:1', '[::1]:1', '[::ffff:127.0.0.1]:1', 'LOCALHOST:1'])(
    '%s is the own machine',
    (address) => expect(isLoopback(address)).toBe(true),
  );

  test.each([
    '10.0.0.1:1',
    'holdfast:50051',
    'localhost.example.com:1',
    '127.0.0.1.example.com:1',
    '[::2]:1',
  ])('%s is another machine', (address) => expect(isLoopback(address)).toBe(false));

  test('a token without TLS is refused for another machine, and the error names the address and no token', async () => {
    const failing = connect(['127.0.0.1:1', '192.0.2.1:50051'], { token: 'secret' });
    const error: unknown = await failing.catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(CredentialError);
    expect(error).toMatchObject({ reason: 'TOKEN_WITHOUT_TLS' });
    expect((error as Error).message).toMatch(/192\.0\.2\.1:50051.*allowInsecureToken/);
    expect((error as Error).message).not.toContain('secret');
  });

  test('the caller can allow a token without TLS', async () => {
    const options = { token: 'secret', allowInsecureToken: true, timeout: 50 };
    await expect(connect('192.0.2.1:50051', options)).rejects.toMatchObject({ name: 'UnavailableError' });
  });

  test('an aborted signal ends `connect` with the reason of the caller', async () => {
    const early = connect('127.0.0.1:1', { signal: AbortSignal.abort(new Error('enough')) });
    await expect(early).rejects.toThrow('enough');
    const abort = new AbortController();
    const connecting = connect('127.0.0.1:1', { signal: abort.signal });
    abort.abort(new Error('later'));
    await expect(connecting).rejects.toThrow('later');
  });
});

describe('the repetition of a call', () => {
  function failure(code: number, reason = '', retryAfterMs?: number): HoldfastError {
    return errorOf('no', { code, reason, retryAfterMs });
  }

  const isRepeated = (error: HoldfastError, isIdempotent: boolean) =>
    new Repetition(isIdempotent).pauseAfter(error) !== undefined;

  test.each([
    ['OVERLOADED', failure(status.RESOURCE_EXHAUSTED, 'OVERLOADED'), true, true],
    ['DRAINING', failure(status.UNAVAILABLE, 'DRAINING'), true, true],
    ['OUTCOME_UNKNOWN', failure(status.UNAVAILABLE, 'OUTCOME_UNKNOWN'), true, false],
    ['UNAVAILABLE with an unknown reason', failure(status.UNAVAILABLE, 'MOON_IS_FULL'), true, false],
    ['a broken connection', failure(status.UNAVAILABLE), true, false],
    ['no answer in time', failure(status.DEADLINE_EXCEEDED), true, false],
    ['a reset stream', failure(status.INTERNAL), true, false],
    ['INTERNAL with a reason', failure(status.INTERNAL, 'INTERNAL'), false, false],
    ['INVALID_FIELD', failure(status.INVALID_ARGUMENT, 'INVALID_FIELD'), false, false],
    ['UNIMPLEMENTED', failure(status.UNIMPLEMENTED), false, false],
  ])('repeats after %s only if a repetition helps', (_, error, ifIdempotent, otherwise) => {
    expect([isRepeated(error, true), isRepeated(error, false)]).toEqual([ifIdempotent, otherwise]);
  });

  test('repeats a refused credential once, at once, until an answer comes', () => {
    const repetition = new Repetition(false);
    const refused = failure(status.UNAUTHENTICATED, 'BAD_CREDENTIAL');
    expect([repetition.pauseAfter(refused), repetition.pauseAfter(refused)]).toEqual([0, undefined]);
    repetition.answered();
    expect(repetition.pauseAfter(refused)).toBe(0);
  });

  test('repeats a call that was not sent, whatever its error says', () => {
    const repetition = new Repetition(false);
    const noToken = failure(status.UNAUTHENTICATED, 'NO_CREDENTIAL');
    for (let n = 0; n < 3; n++) expect(repetition.pauseAfter(noToken, false)).toBeGreaterThan(0);
  });

  test('repeats INTERNAL without a reason once, because a message that cannot be encoded has this code', () => {
    const repetition = new Repetition(true);
    expect(repetition.pauseAfter(failure(status.INTERNAL))).toBeDefined();
    expect(repetition.pauseAfter(failure(status.INTERNAL))).toBeUndefined();
  });

  test('heeds the delay of the server', () => {
    expect(
      new Repetition(true).pauseAfter(failure(status.UNAVAILABLE, 'DRAINING', 700)),
    ).toBeGreaterThanOrEqual(700);
  });

  test('only a connection without an answer is broken', () => {
    expect(isBroken(failure(status.DEADLINE_EXCEEDED))).toBe(true);
    expect(isBroken(failure(status.RESOURCE_EXHAUSTED, 'OVERLOADED'))).toBe(false);
  });

  test('an attempt of a repeatable call leaves time for the next attempt', () => {
    expect(attemptMs(10_000, true)).toBe(6000);
    expect(attemptMs(1500, true)).toBe(1000);
    expect(attemptMs(300, true)).toBe(300);
    expect(attemptMs(10_000, false)).toBe(10_000);
  });

  test('a timeout is a time span, 10 s by default', () => {
    expect([timeoutOf({}), timeoutOf({ timeout: '30s' }), timeoutOf({ timeout: 5 })]).toEqual([
      10_000,
      toMs('30s', 'timeout'),
      5,
    ]);
    expect(() => timeoutOf({ timeout: 'soon' })).toThrow('timeout must be milliseconds');
  });
});
