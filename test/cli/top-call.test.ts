import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect, type Holdfast } from '../../clients/typescript';
import { tokenDigest } from '../../src/access/credentials';
import { InProcessServer } from '../end-to-end/in-process-server';
import { runProgram, type FakeTerminal } from '../support/cli/run-program';
import { closeAll, eventually, eventuallyPasses } from '../support/eventually';
import { RedisProcess } from '../support/processes/redis-process';
import { TcpProxy } from '../support/proxy/tcp-proxy';
import { scratchFolder } from '../support/scratch-folder';

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

test('top draws on the alternate screen of a terminal until it is interrupted', async () => {
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
  expect((await run(['top', 'held/', '--by', 'hold', '--limit', '1'])).out).toMatch(/HELD FOR[^]*held\/sem/);
  expect(await run(['top', '--by', 'calls'])).toMatchObject({ code: 64 });
  expect(await run(['top', '--by', 'hold', '--callers'])).toMatchObject({ code: 64 });
  await Promise.all([first.release(), second.release()]);
});

test('top gives the screen back in the moment of a signal, also while it waits for an answer', async () => {
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
});

test('top keeps the last answer and says why while no server answers, and goes on afterwards', async () => {
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
});

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

test('call tries the next address, and ends with 69 if no server answers', async () => {
  const args = ['call', 'grpc.health.v1.Health/Check', '--timeout', '4s'];
  expect(await runProgram([...args, '-a', '127.0.0.1:1'])).toMatchObject({ code: 69 });
  expect(await runProgram([...args, '-a', `127.0.0.1:1,${server.address}`])).toMatchObject({ code: 0 });
});
