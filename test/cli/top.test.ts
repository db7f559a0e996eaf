import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { connect as connectTcp } from 'node:net';
import { join } from 'node:path';
import { connect, duration, type Holdfast } from '../../clients/typescript';
import {
  AcquireLockRequest,
  GetLockRequest,
  LockServiceService,
} from '../../generated/typescript/holdfast/v1/lock_service';
import { tokenDigest } from '../../src/access/credentials';
import { frame } from '../contract/raw-call';
import { InProcessServer } from '../end-to-end/in-process-server';
import { type FakeTerminal, runProgram } from '../support/cli/run-program';
import { closeAll, eventually, eventuallyPasses } from '../support/eventually';
import { RedisProcess } from '../support/processes/redis-process';
import { ServerProcess } from '../support/processes/server-process';
import { TcpProxy } from '../support/proxy/tcp-proxy';
import { scratchFolder } from '../support/scratch-folder';

describe('top call', () => {
  let redis: RedisProcess;
  let server: InProcessServer;
  let guarded: InProcessServer;
  let hf: Holdfast;
  let tokenFile: string;

  beforeAll(async () => {
    redis = await RedisProcess.start({ appendfsync: 'no' });
    server = await InProcessServer.start(redis.url);
    const folder = scratchFolder();
    writeFileSync(join(folder, 'tokens'), `alice sha256:${tokenDigest('right')}\n`);
    tokenFile = join(folder, 'token');
    writeFileSync(tokenFile, 'right\n');
    guarded = await InProcessServer.start(redis.url, { HOLDFAST_AUTH_TOKENS: join(folder, 'tokens') });
    hf = await connect(server.address, { timeout: '30s', holderId: 'first' });
  });
  afterAll(() =>
    closeAll(
      () => hf?.close(),
      () => server?.closeDespiteWarnings(),
      () => guarded?.closeDespiteWarnings(),
      () => redis?.close(),
    ),
  );

  const run = (args: readonly string[], fake?: FakeTerminal) =>
    runProgram([...args, '-a', server.address, '--timeout', '30s'], fake);
  const call = (args: readonly string[], fake?: FakeTerminal) => run(['call', ...args], fake);

  /** Holds the names, with so many waiters each, until the function in the answer is called. */
  async function contend(wanted: Readonly<Record<string, number>>): Promise<() => Promise<void>> {
    const stop = new AbortController();
    const waits: Promise<unknown>[] = [];
    for (const [name, count] of Object.entries(wanted)) {
      const take = (): Promise<{ release(): Promise<unknown> }> =>
        name.includes('sem')
          ? hf.permits(name, { limit: 1, ttl: '60s', wait: '60s', signal: stop.signal })
          : hf.lock(name, { ttl: '60s', wait: '60s', signal: stop.signal });
      const held = await take();
      for (let i = 0; i < count; i++) waits.push(take().catch(() => undefined));
      waits.push(
        new Promise((resolve) => stop.signal.addEventListener('abort', () => resolve(held.release()))),
      );
    }
    return async () => {
      stop.abort();
      await Promise.all(waits);
    };
  }

  test('top shows locks and semaphores together, the most waiters first', async () => {
    const end = await contend({ 'top/lock': 2, 'top/sem': 3, 'top/idle': 0 });
    try {
      const shown = () => run(['top', 'top/']);
      const isComplete = async () => {
        const { out } = await shown();
        return / 3 .*\n.* 2 /.test(out) && out;
      };
      const out = await eventually('all waiters', isComplete, { timeoutMs: 60_000 });
      expect(out.replace(/\d+(\.\d)?(ms|s)\b/g, 'T').replace(/ +/g, ' ')).toBe(
        `KIND NAME WAITERS LONGEST WAIT USED HOLDER
semaphore top/sem 3 T 1/1 first
lock top/lock 2 T first
`,
      );
      // A busy server may count only a part of the names in its time.
      await eventuallyPasses('the semaphore as JSON', async () => {
        const { out } = await run(['top', 'top/', '-o', 'jsonl', '--limit', '1']);
        expect(out).toMatch(/^\{"semaphore":\{"name":"top\/sem",.*"waiterCount":3.*\}\}\n$/);
      });
    } finally {
      await end();
    }
  });

  test.concurrent('top draws on the alternate screen of a terminal until it is interrupted', async () => {
    const interrupted = new AbortController();
    let count = 0;
    const onOut = (text: string) => {
      count = text.split('\u001b[H').length - 1;
      if (count === 2) interrupted.abort();
    };
    const fake = { columns: 80, signal: interrupted.signal, onOut };
    const { out } = await run(['top', 'nothing/', '--interval', '500ms'], fake);
    expect(out.startsWith('\u001b[?1049h')).toBe(true);
    expect(out).toContain('no waiters found\u001b[K\n');
    expect(out.endsWith('\u001b[?1049l')).toBe(true);
    expect((await run(['top', 'nothing/', '--once'], { columns: 80 })).out).toBe('no waiters found\n');
  });

  test('top --by hold shows what is held longest first, and nothing that is free', async () => {
    const first = await hf.permits('held/sem', { limit: 2, ttl: '60s' });
    const second = await hf.lock('held/lock', { ttl: '60s' });
    await (await hf.lock('held/free')).release();
    const { out } = await run(['top', 'held/', '--by', 'hold', '-o', 'json']);
    const names = (JSON.parse(out) as { lock?: { name: string }; semaphore?: { name: string } }[]).map(
      ({ lock, semaphore }) => (lock ?? semaphore)?.name,
    );
    expect(names).toEqual(['held/sem', 'held/lock']);
    expect((await run(['top', 'held/', '--by', 'hold', '--limit', '1'])).out).toMatch(
      /HELD FOR[^]*held\/sem/,
    );
    expect(await run(['top', '--by', 'calls'])).toMatchObject({ code: 64 });
    expect(await run(['top', '--by', 'hold', '--callers'])).toMatchObject({ code: 64 });
    await Promise.all([first.release(), second.release()]);
  });

  test.concurrent(
    'top gives the screen back in the moment of a signal, also while it waits for an answer',
    async () => {
      const targetPort = Number(server.address.split(':').pop());
      const proxy = await TcpProxy.open({ targetPort, protocol: 'tcp' });
      const interrupted = new AbortController();
      let shown = '';
      let atSignal = '';
      const onOut = (text: string) => {
        const isFirst = shown === '';
        shown = text;
        if (!isFirst) return;
        proxy.blackHole('both');
        // The next question is under way by then.
        setTimeout(() => {
          interrupted.abort();
          atSignal = shown;
        }, 1500);
      };
      try {
        const args = ['top', 'nothing/', '--interval', '500ms', '-a', proxy.address, '--timeout', '30s'];
        await runProgram(args, { columns: 80, signal: interrupted.signal, onOut });
        expect(atSignal.endsWith('\u001b[?1049l')).toBe(true);
        expect(shown).toBe(atSignal);
      } finally {
        await proxy.close();
      }
    },
  );

  test.concurrent(
    'top keeps the last answer and says why while no server answers, and goes on afterwards',
    async () => {
      const end = await contend({ 'kept/lock': 1 });
      const targetPort = Number(server.address.split(':').pop());
      const proxy = await TcpProxy.open({ targetPort, protocol: 'tcp' });
      const interrupted = new AbortController();
      const OLD = 'old, from ';
      const onOut = (text: string) => {
        const screen = text.slice(text.lastIndexOf('\u001b[H'));
        const wasOld = text.includes(OLD);
        if (!wasOld && screen.includes('kept/lock')) {
          proxy.refuseNew();
          proxy.cutAll();
        } else if (screen.includes(OLD)) {
          expect(screen).toContain('kept/lock');
          proxy.passEverything();
        } else if (wasOld && screen.includes('kept/lock')) interrupted.abort();
      };
      try {
        const args = ['top', 'kept/', '--interval', '500ms', '-a', proxy.address, '--timeout', '30s'];
        const isShown = async () => (await run(['top', 'kept/'])).out.includes('kept/lock');
        await eventually('the waiter', isShown, { timeoutMs: 60_000 });
        const { out } = await runProgram(args, { columns: 80, signal: interrupted.signal, onOut });
        expect(interrupted.signal.aborted).toBe(true);
        expect(out).toMatch(/old, from \S+Z, because: /);
        expect(out.endsWith('\u001b[?1049l')).toBe(true);
      } finally {
        await end();
        await proxy.close();
      }
    },
  );

  test('top ends when the first call fails', async () => {
    const { code, out } = await runProgram(['top', '-a', guarded.address], { columns: 80 });
    expect([code, out]).toEqual([77, '']);
  });

  test('top refuses an interval that would load the servers', async () => {
    expect(await run(['top', '--interval', '100ms'])).toMatchObject({ code: 64 });
  });

  test('call sends a unary call and prints the JSON form of protobuf', async () => {
    const request = { name: 'called', ttl: '30.5s', requestId: randomUUID() };
    const { out, code } = await call(['LockService/AcquireLock', JSON.stringify(request), '-o', 'jsonl']);
    expect(code).toBe(0);
    const { lease } = JSON.parse(out) as { lease: Record<string, unknown> };
    // A 64-bit number is a text, and a duration ends with "s".
    expect(lease).toMatchObject({ fencingToken: expect.stringMatching(/^\d+$/) as string });
    expect(JSON.stringify(lease)).toMatch(/"\d+(\.\d+)?s"/);
  });

  test('call reads the request from stdin, and takes full names of services', async () => {
    const { out } = await call(['holdfast.v1.LockService/GetLock', '-'], { input: '{"name":\n"free"}' });
    expect(out).toBe('{\n  "lock": {\n    "name": "free"\n  }\n}\n');
    expect((await call(['grpc.health.v1.Health/Check'])).out).toContain('"SERVING"');
  });

  test('call prints each message of a server stream until it is interrupted', async () => {
    const interrupted = new AbortController();
    const fake = { signal: interrupted.signal, onOut: () => interrupted.abort(new Error('stopped')) };
    const { out, err } = await call(['LockService/WatchLock', '{"name":"free"}', '-o', 'jsonl'], fake);
    expect(out).toBe('{"lock":{"name":"free"}}\n');
    expect(err).toBe('stopped\n');
  });

  test('call prints the reason, the metadata and the fields of an error', async () => {
    const invalid = await call(['LockService/GetLock', '{}']);
    expect(invalid).toMatchObject({ code: 64, out: '' });
    expect(invalid.err).toMatch(/^reason: INVALID_FIELD\nfield name: .*\n.*name.*\n$/);
    const lease = await hf.lock('held', { ttl: '60s' });
    const request = { name: 'held', ttl: '30s', waitTimeout: '0s', requestId: randomUUID() };
    const contended = await call(['LockService/AcquireLock', JSON.stringify(request)]);
    expect(contended.code).toBe(75);
    expect(contended.err).toMatch(/^reason: CONTENDED\n(.*\n)*holder_id: first\n/);
    await lease.release();
  });

  test.each([
    [['LockService'], 'must be SERVICE/METHOD'],
    [['Nope/GetLock'], 'the server has no service "holdfast.v1.Nope", but grpc.health.v1.Health'],
    [['LockService/Nope'], 'has no method "Nope", but AcquireLock'],
    [['LockService/GetLock', '{"nme":1}'], 'key "nme" is unknown'],
    [['LockService/GetLock', '{'], 'the request is no holdfast.v1.GetLockRequest in JSON'],
    [['AutocompleteService/ImportDictionary'], 'takes several requests'],
    [['SessionService/OpenSession'], 'takes several requests'],
  ])('call refuses %j', async (args, problem) => {
    const { code, err } = await call(args);
    expect(err).toContain(problem);
    expect(code).toBe(64);
  });

  test('call sends the token of the connection, and ends with 77 without a token', async () => {
    const args = ['call', 'LockService/GetLock', '{"name":"x"}', '-a', guarded.address];
    expect(await runProgram(args)).toMatchObject({ code: 77 });
    expect(await runProgram([...args, '--token-file', tokenFile])).toMatchObject({ code: 0 });
  });

  test.concurrent('call tries the next address, and ends with 69 if no server answers', async () => {
    const args = ['call', 'grpc.health.v1.Health/Check', '--timeout'];
    expect(await runProgram([...args, '500ms', '-a', '127.0.0.1:1'])).toMatchObject({ code: 69 });
    expect(await runProgram([...args, '4s', '-a', `127.0.0.1:1,${server.address}`])).toMatchObject({
      code: 0,
    });
  });
});

describe('top callers', () => {
  /** An operator finds who floods a real server, with the program `holdfast`. */

  let redis: RedisProcess;
  let server: ServerProcess;
  let tokenFile: string;
  const sessions: ClientHttp2Session[] = [];

  beforeAll(async () => {
    redis = await RedisProcess.start({ appendfsync: 'no' });
    const folder = scratchFolder();
    const line = (name: string): string => `${name} sha256:${tokenDigest(`secret-of-${name}`)}\n`;
    writeFileSync(join(folder, 'tokens'), ['ops', 'noisy', 'patient'].map(line).join(''));
    tokenFile = join(folder, 'token');
    writeFileSync(tokenFile, 'secret-of-ops\n');
    server = await ServerProcess.start({
      redisUrl: redis.url,
      env: { HOLDFAST_AUTH_TOKENS: join(folder, 'tokens') },
    });
  });
  afterAll(() =>
    closeAll(
      () => sessions.forEach((session) => session.destroy()),
      () => server?.close(),
      () => redis?.close(),
    ),
  );

  /** Sends calls of one caller from an address of this machine. */
  async function callerFrom(name: string, localAddress: string) {
    const [host, port] = server.listen.split(':') as [string, string];
    const socket = connectTcp({ host, port: Number(port), localAddress });
    await once(socket, 'connect');
    const session = connectHttp2(`http://${server.listen}`, {
      createConnection: () => socket,
      maxSessionMemory: 1000,
    });
    session.on('error', () => undefined);
    sessions.push(session);
    return (path: string, body: Buffer, more: Readonly<Record<string, string>> = {}): Promise<void> =>
      new Promise((resolve) => {
        const headers = {
          ':method': 'POST',
          ':path': path,
          'content-type': 'application/grpc',
          te: 'trailers',
        };
        const stream = session.request({ ...headers, authorization: `Bearer secret-of-${name}`, ...more });
        stream
          .on('error', () => undefined)
          .on('close', resolve)
          .resume();
        stream.end(body);
      });
  }

  const GET_LOCK = frame(GetLockRequest.encode({ name: 'x' }).finish());

  interface Shown {
    readonly caller: { readonly identity?: string; readonly address?: string } & Record<string, unknown>;
  }

  async function top(by: string): Promise<readonly Shown[]> {
    const connection = ['-a', server.listen, '--token-file', tokenFile, '--timeout', '30s'];
    const { out, err, code } = await runProgram([
      'top',
      '--callers',
      '--by',
      by,
      '-o',
      'json',
      ...connection,
    ]);
    if (code !== 0) throw new Error(err);
    return JSON.parse(out) as Shown[];
  }

  test('top --callers finds the caller that floods, and the audit log names it', async () => {
    const send = await callerFrom('noisy', '127.0.0.2');
    let isOver = false;
    const flood = async (): Promise<void> => {
      // The server refuses a call that would wait for longer than its time limit.
      while (!isOver) await send(LockServiceService.getLock.path, GET_LOCK, { 'grpc-timeout': '100m' });
    };
    const floods = Array.from({ length: 3000 }, flood);
    try {
      const first = await eventually(
        'the flooder',
        async () => {
          const [row] = await top('refusals');
          // Its row is the first before it has been refused, because nobody has been refused then.
          return row?.caller['lastRefusalReason'] !== undefined && row;
        },
        { timeoutMs: 60_000 },
      );
      expect(first.caller).toMatchObject({
        identity: 'token:noisy',
        address: '127.0.0.2',
        lastRefusalReason: 'ERROR_REASON_OVERLOADED',
        age: expect.stringMatching(/^[\d.]+s$/) as string,
      });
      expect(Number(first.caller['recentRefusalCount'])).toBeGreaterThan(0);
      const line = await eventually('the audit line', () =>
        server.logs.find(({ outcome }) => outcome === 'OVERLOADED'),
      );
      expect(line).toMatchObject({ audit: true, identity: 'token:noisy', action: 'refused' });
      expect(String(line['peer'])).toMatch(/^127\.0\.0\.2:\d+$/);
    } finally {
      isOver = true;
      await Promise.all(floods);
    }
  }, 180_000);

  test('top --callers --by waits finds the caller that waits, and shows leases, waits and connections', async () => {
    const send = await callerFrom('patient', '127.0.0.3');
    const acquire = (): Promise<void> => {
      const fields = {
        name: 'taken',
        requestId: randomUUID(),
        ttl: duration(60_000),
        waitTimeout: duration(60_000),
      };
      const request = AcquireLockRequest.encode(AcquireLockRequest.create(fields)).finish();
      return send(LockServiceService.acquireLock.path, frame(request));
    };
    await acquire();
    for (let count = 0; count < 5; count += 1) void acquire();
    const first = await eventually('the waiters', async () => {
      const [row] = await top('waits');
      return row?.caller['waiterCount'] === 5 && row;
    });
    expect(first.caller).toMatchObject({
      identity: 'token:patient',
      address: '127.0.0.3',
      callCount: '6',
      leaseCount: 1,
      connectionCount: 1,
    });
  });

  test('top --callers draws a table with a row for each caller', async () => {
    const args = ['top', '--callers', '--once', '-a', server.listen, '--token-file', tokenFile];
    const { out, err, code } = await runProgram([...args, '--timeout', '30s']);
    expect(code).toBe(0);
    expect(err).toMatch(/^holdfast: RECENT and REFUSED are of the last \d[\dms.]*\n$/);
    const [titles, ...rows] = out.split('\n');
    expect(titles?.split(/ {2,}/)).toEqual([
      ...['IDENTITY', 'ADDRESS', 'RECENT', 'REFUSED', 'CALLS', 'LEASES', 'WAITS', 'STREAMS', 'LAST REFUSAL'],
    ]);
    expect(rows.some((row) => /^token:noisy +127\.0\.0\.2 .* OVERLOADED/.test(row))).toBe(true);
  });

  test.each([
    [['--callers', 'prefix/'], 'takes no prefix'],
    [['--by', 'calls'], '--by needs --callers'],
    [['--callers', '--by', 'names'], 'Allowed choices are calls, refusals, leases, waits'],
  ])('top refuses %j', async (args, problem) => {
    const { code, err } = await runProgram(['top', ...args, '-a', server.listen, '--token-file', tokenFile]);
    expect(err).toContain(problem);
    expect(code).toBe(64);
  });

  test('top --callers ends with 77 for a caller who may not list callers', async () => {
    expect(await runProgram(['top', '--callers', '-a', server.listen])).toMatchObject({ code: 77, out: '' });
  });
});
