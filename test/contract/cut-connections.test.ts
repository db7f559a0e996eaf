import { fork } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { connect as connectHttp2, type Http2Session, type ServerHttp2Session } from 'node:http2';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { logVerbosity, setLogVerbosity } from '@grpc/grpc-js';
import { ListenError } from '../../src/rpc/entry/grpc-js';
import { FirstFrames, IdleFrames } from '../../src/rpc/entry/idle-connections';
import { InProcessServer } from '../end-to-end/in-process-server';
import { FrameConnection } from '../support/attacks/frame-connection';
import { CHECK } from '../support/attacks/refused-calls';
import { eventually, eventuallyPasses } from '../support/eventually';
import { RedisProcess } from '../support/processes/redis-process';
import { scratchFolder } from '../support/scratch-folder';
import { someLease } from './fake-engines';
import { acquireRequest, call, Harness } from './harness';

describe('cut connections', () => {
  /** Connections that cost too much, and the others. */

  /** With few repetitions, more than a connection may send. */
  const FLOOD = 100_000;

  let redis: RedisProcess;
  let server: InProcessServer;
  beforeAll(async () => {
    redis = await RedisProcess.start({ inMemory: true });
    server = await InProcessServer.start(redis.url);
  });
  afterAll(async () => {
    await server?.closeDespiteWarnings();
    expect(server?.warnings.filter(({ cause }) => cause !== 'idle-frames')).toEqual([]);
    await redis?.close();
  });

  /** Calls one by one, each after the answer to the call before. */
  async function check(connection: FrameConnection, outcomes: string[]): Promise<void> {
    const count = outcomes.length;
    connection.call(CHECK);
    await eventually('an outcome', () => outcomes.length > count);
  }

  test.each(['priority', 'window-update', 'reset'] as const)(
    'a connection that sends many frames of the kind %s is cut, and another connection is not',
    async (kind) => {
      const [outcomes, others]: [string[], string[]] = [[], []];
      const flooding = new FrameConnection(server.address, {
        onOutcome: (outcome) => outcomes.push(outcome),
      });
      const other = new FrameConnection(server.address, { onOutcome: (outcome) => others.push(outcome) });
      await Promise.all([check(flooding, outcomes), check(other, others)]);
      await eventually('the end of the connection', () => {
        if (!flooding.ended) flooding.sendIdle(kind, FLOOD);
        return flooding.ended;
      });
      await check(other, others);
      expect(others).toEqual(['OK', 'OK']);
      other.close();
    },
  );

  test('the log says why a connection was cut, and names its client', async () => {
    let flooding = new FrameConnection(server.address);
    await eventuallyPasses('the cause and the client in the log', () => {
      // HTTP/2 itself may end a connection, and this has no line.
      if (flooding.ended) flooding = new FrameConnection(server.address);
      flooding.sendIdle('priority', FLOOD);
      expect(server.warnings).toContainEqual(
        expect.objectContaining({
          msg: 'cut a connection',
          cause: 'idle-frames',
          peer: expect.stringMatching(/^127\.0\.0\.1:\d+$/) as string,
        }),
      );
    });
    flooding.close();
  });

  test('a connection with many calls, one after the other, and few other frames is not cut', async () => {
    const outcomes: string[] = [];
    const connection = new FrameConnection(server.address, {
      onOutcome: (outcome) => outcomes.push(outcome),
    });
    for (let call = 0; call < 200; call += 1) {
      connection.sendIdle('window-update', 2);
      await check(connection, outcomes);
    }
    expect(new Set(outcomes)).toEqual(new Set(['OK']));
    connection.close();
  });

  describe('the bytes of a connection', () => {
    /** Runs 60 s in which the connection receives so much in each second. Returns after how many seconds it is cut. */
    function secondsUntilCut(
      step: (traffic: IdleFrames, session: Http2Session, socket: { bytesWritten: number }) => number,
    ): number | undefined {
      jest.useFakeTimers();
      try {
        let cutAt: number | undefined;
        let second = 0;
        const frames = new IdleFrames(() => (cutAt ??= second));
        const socket = { bytesRead: 0, bytesWritten: 0 };
        const session = new EventEmitter() as Http2Session;
        frames.add(session, socket as Socket);
        for (second = 1; second <= 60; second += 1) {
          socket.bytesRead += step(frames, session, socket);
          jest.advanceTimersByTime(1000);
        }
        session.emit('close');
        jest.advanceTimersByTime(2000);
        expect(jest.getTimerCount()).toBe(0);
        return cutAt;
      } finally {
        jest.useRealTimers();
      }
    }

    it('have a reason if they are small messages, with the heads of TLS and of their frames', () => {
      const seconds = secondsUntilCut((frames, session) => {
        for (let count = 0; count < 20_000; count += 1) frames.requested(session, 10);
        return 20_000 * (10 + 9 + 29);
      });
      expect(seconds).toBeUndefined();
    });

    it('may be read long before the requests are, as when sixteen imports wait', () => {
      let second = 0;
      const seconds = secondsUntilCut((frames, session) => {
        second += 1;
        if (second % 10 === 1) return 16 * 65_536;
        if (second % 10 === 0) frames.requested(session, 16 * 65_536);
        return 0;
      });
      expect(seconds).toBeUndefined();
    });

    it('need no reason up to 256 KiB a second, and cut the connection soon above', () => {
      expect(secondsUntilCut(() => 256 * 1024)).toBeUndefined();
      expect(secondsUntilCut(() => 1024 * 1024)).toBeLessThan(10);
    });

    it.each([
      ['pings', 'ping', 17],
      ['settings', 'remoteSettings', 9],
    ] as const)('have no reason if they are %s, although the server answers each', (_title, event, bytes) => {
      const seconds = secondsUntilCut((_frames, session, socket) => {
        for (let count = 0; count < 60_000; count += 1) session.emit(event);
        socket.bytesWritten += 60_000 * bytes;
        return 60_000 * bytes;
      });
      expect(seconds).toBeLessThan(20);
    });

    it('have a reason if each is a ping for a message, as clients send to measure their connection', () => {
      const seconds = secondsUntilCut((_frames, session, socket) => {
        for (let count = 0; count < 20_000; count += 1) session.emit('ping');
        socket.bytesWritten += 20_000 * (17 + 20);
        return 20_000 * (17 + 2 * 13);
      });
      expect(seconds).toBeUndefined();
    });

    it('may follow a call in the next seconds', () => {
      let second = 0;
      const seconds = secondsUntilCut((frames, session) => {
        second += 1;
        if (second > 1) return 65_536 * 10;
        for (let count = 0; count < 100; count += 1) frames.called(session);
        return 0;
      });
      expect(seconds).toBeGreaterThan(15);
    });
  });

  test('a connection without a first frame of HTTP/2 is cut after its time, and an early end leaves no timer', async () => {
    const { createServer } = await import('node:net');
    const late: string[] = [];
    const firstFrames = new FirstFrames(({ text }) => late.push(text), 100);
    const listener = createServer((socket) => firstFrames.connected(socket)).listen(0, '127.0.0.1');
    await once(listener, 'listening');
    const { port } = listener.address() as { port: number };
    const silent: Socket = connect(port, '127.0.0.1');
    let silentPort: number | undefined;
    silent.once('connect', () => (silentPort = silent.localPort));
    const early: Socket = connect(port, '127.0.0.1', () => early.end());
    silent.on('error', () => undefined);
    await Promise.all([once(silent, 'close'), once(early, 'close')]);
    expect(late).toEqual([`127.0.0.1:${silentPort}`]);
    listener.close();
  });

  test('a call with long headers is reset, and the next call of its connection is answered', async () => {
    const session = connectHttp2(`http://${server.address}`);
    await once(session, 'remoteSettings');
    const checkWith = async (headers: Record<string, string>): Promise<string> => {
      const path = {
        ':method': 'POST',
        ':path': CHECK.path,
        'content-type': 'application/grpc',
        te: 'trailers',
      };
      const stream = session.request({ ...path, ...headers });
      const outcome = new Promise<string>((resolve) => {
        stream.once('error', ({ message }: Error) => resolve(message));
        stream.once('trailers', ({ 'grpc-status': code }) => resolve(String(code)));
      });
      stream.resume().end(CHECK.body);
      return outcome;
    };
    expect(await checkWith({ 'x-note': '~'.repeat(60_000) })).toContain('ENHANCE_YOUR_CALM');
    expect(await checkWith({ 'x-note': '~'.repeat(10_000) })).toBe('0');
    session.destroy();
  });

  test('a client that takes the port of an earlier connection is not cut for the earlier one', () => {
    jest.useFakeTimers();
    try {
      const fake = () => {
        const address = { remoteAddress: '10.0.0.1', remotePort: 4000, localPort: 50051, destroyed: false };
        return Object.assign(new EventEmitter(), address, { destroy: jest.fn() });
      };
      const [earlier, later] = [fake(), fake()];
      const frames = new FirstFrames(() => undefined);
      frames.connected(earlier as unknown as Socket);
      jest.advanceTimersByTime(9000);
      frames.connected(later as unknown as Socket);
      jest.advanceTimersByTime(2000);
      const session = new EventEmitter() as ServerHttp2Session;
      frames.began(session, later as unknown as Socket);
      session.emit('remoteSettings');
      jest.advanceTimersByTime(20_000);
      expect([earlier.destroy.mock.calls.length, later.destroy.mock.calls.length]).toEqual([1, 0]);
    } finally {
      jest.useRealTimers();
    }
  });
});

describe('listen', () => {
  // Without this setting grpc-js prints the expected errors on the console.
  setLogVerbosity(logVerbosity.NONE);

  let folder: string;
  let path: string;
  const open: Harness[] = [];
  beforeEach(() => {
    folder = scratchFolder();
    path = join(folder, 'h.sock');
  });
  afterEach(async () => {
    await Promise.all(open.splice(0).map((harness) => harness.close()));
  });

  async function listen(address: Parameters<typeof Harness.start>[0]): Promise<Harness> {
    const harness = await Harness.start(address);
    open.push(harness);
    return harness;
  }

  async function serves(harness: Harness): Promise<boolean> {
    const client = harness.locks();
    const { lease } = await call(client, client.acquireLock, acquireRequest());
    return lease?.name === 'hello';
  }

  test.each(['127.0.0.1', 'localhost', '::1'])(
    'the server listens on a free port of %s, and returns the port number',
    async (host) => {
      const harness = await listen({ address: { kind: 'tcp', host, port: 0 } });
      expect(harness.target).toMatch(host === '::1' ? /^\[::1\]:[1-9]\d*$/ : /^[\w.]+:[1-9]\d*$/);
      expect(await serves(harness)).toBe(true);
    },
  );

  test('the server refuses a port in use with a plain sentence', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as { port: number };
    const attempt = listen({ address: { kind: 'tcp', host: '127.0.0.1', port } });
    await expect(attempt).rejects.toThrow(
      `cannot listen on 127.0.0.1:${port}: another program already listens there`,
    );
    taken.close();
  });

  test('the server refuses an address of another machine', async () => {
    const attempt = listen({ address: { kind: 'tcp', host: '192.0.2.1', port: 0 } });
    await expect(attempt).rejects.toThrow('this machine has no such address');
  });

  describe('a server on a Unix socket', () => {
    test('has a connection object for each client, and removes the socket file when the server closes', async () => {
      const harness = await listen({ address: { kind: 'unix', path } });
      expect(harness.target).toBe(`unix:${path}`);
      const connections: object[] = [];
      harness.permits.answers.acquire = (given) => {
        connections.push(given.connection);
        return Promise.resolve(someLease);
      };
      await serves(harness);
      await serves(harness);
      expect(connections[0]).not.toBe(connections[1]);
      await harness.close();
      expect(existsSync(path)).toBe(false);
    });

    test('replaces the socket file of a killed server', async () => {
      const child = fork(
        '-e',
        [`require('net').createServer().listen(${JSON.stringify(path)}, () => process.send(1))`],
        {
          execArgv: [],
          stdio: 'ignore',
        },
      );
      await once(child, 'message');
      child.kill('SIGKILL');
      await once(child, 'exit');
      expect(existsSync(path)).toBe(true);
      expect(await serves(await listen({ address: { kind: 'unix', path } }))).toBe(true);
    });

    test('does not replace a socket file with a listener', async () => {
      const first = await listen({ address: { kind: 'unix', path } });
      await expect(listen({ address: { kind: 'unix', path } })).rejects.toThrow('already listens there');
      expect(await serves(first)).toBe(true);
    });

    test('does not replace a file that is not a socket', async () => {
      writeFileSync(path, 'precious');
      await expect(listen({ address: { kind: 'unix', path } })).rejects.toThrow(
        'a file that is not a socket',
      );
      expect(existsSync(path)).toBe(true);
    });

    test('does not start in a folder that does not exist', async () => {
      const nowhere = join(folder, 'no', 'h.sock');
      await expect(listen({ address: { kind: 'unix', path: nowhere } })).rejects.toThrow(ListenError);
    });
  });
});
