import { once } from 'node:events';
import { Readable } from 'node:stream';
import type { handleServerStreamingCall, handleUnaryCall } from '@grpc/grpc-js';
import {
  ClosedError,
  CredentialError,
  HoldfastError,
  UnavailableError,
} from '../../../../clients/typescript';
import { CallChannel, type CallSettings } from '../../../../clients/typescript/calls/call-channel';
import { Servers } from '../../../../clients/typescript/connection/servers';
import { watch } from '../../../../clients/typescript/calls/watch';
import { tokenSource } from '../../../../clients/typescript/connection/token';
import { ElectionClient } from '../../../../clients/typescript/election';
import {
  Lock,
  LockServiceService as methods,
  type GetLockRequest,
  type GetLockResponse,
  type WatchLockRequest,
  type WatchLockResponse,
} from '../../../../generated/typescript/holdfast/v1/lock_service';
import { eventually } from '../../../support/eventually';
import { TcpProxy } from '../../../support/proxy/tcp-proxy';
import { StubServer } from './stub-server';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

type GetLock = handleUnaryCall<GetLockRequest, GetLockResponse>;

const answer =
  (name: string): GetLock =>
  (_, reply) =>
    reply(null, { lock: Lock.create({ name }) });
const silence: GetLock = () => undefined;

async function serve(handlers: Parameters<typeof StubServer.start>[0]): Promise<StubServer> {
  const server = await StubServer.start(handlers);
  cleanups.push(() => server.close());
  return server;
}

function channelTo(servers: readonly { address: string }[], more: Partial<CallSettings> = {}): CallChannel {
  const channel = new CallChannel({ servers: new Servers(servers.map(({ address }) => address)), ...more });
  cleanups.push(() => channel.close());
  return channel;
}

async function nameAt(channel: CallChannel, options: Parameters<CallChannel['unary']>[2]): Promise<string> {
  const { lock } = await channel.unary(methods.getLock, { name: 'x' }, options);
  return lock?.name ?? '';
}

test('a repeatable call that a server does not answer goes to the next server', async () => {
  const servers = [await serve({ getLock: silence }), await serve({ getLock: answer('second') })];
  expect(await nameAt(channelTo(servers), { timeout: '4s' })).toBe('second');
});

test('a call that may not run twice is not repeated, and the next call goes to the next server', async () => {
  let count = 0;
  const counted: GetLock = () => void (count += 1);
  const servers = [await serve({ getLock: counted }), await serve({ getLock: answer('second') })];
  const channel = channelTo(servers);
  const once = nameAt(channel, { timeout: '1.5s', isIdempotent: false });
  await expect(once).rejects.toThrow(UnavailableError);
  expect(count).toBe(1);
  expect(await nameAt(channel, { isIdempotent: false })).toBe('second');
});

test('a short timeout of the caller does not leave the server', async () => {
  let isSlow = true;
  const first: GetLock = (call, reply) => (isSlow ? undefined : answer('first')(call, reply));
  const channel = channelTo([await serve({ getLock: first }), await serve({ getLock: answer('second') })]);
  await expect(nameAt(channel, { timeout: 100 })).rejects.toThrow(UnavailableError);
  isSlow = false;
  expect(await nameAt(channel, {})).toBe('first');
});

test('an aborted call rejects with the reason of the caller', async () => {
  const channel = channelTo([await serve({ getLock: silence })]);
  const abort = new AbortController();
  const call = nameAt(channel, { signal: abort.signal });
  abort.abort(new Error('enough'));
  await expect(call).rejects.toThrow('enough');
});

test('a watch on a connection that leads nowhere goes on at the next server', async () => {
  const tell =
    (name: string): handleServerStreamingCall<WatchLockRequest, WatchLockResponse> =>
    (call) =>
      void call.write({ lock: Lock.create({ name }) });
  const [first, second] = [
    await serve({ watchLock: tell('first') }),
    await serve({ watchLock: tell('second') }),
  ];
  const proxy = await TcpProxy.open({ targetPort: first.port, protocol: 'tcp' });
  cleanups.push(() => proxy.close());
  const channel = channelTo([proxy, second], { keepaliveMs: 100, keepaliveTimeoutMs: 1000 });
  const seen: (string | undefined)[] = [];
  for await (const { lock } of watch(channel, methods.watchLock, { name: 'x' })) {
    seen.push(lock?.name);
    if (seen.length === 2) break;
    proxy.blackHole('both');
  }
  expect(seen).toEqual(['first', 'second']);
});

describe('an iteration without a next message', () => {
  let openCount: number;
  let channel: CallChannel;

  beforeEach(async () => {
    openCount = 0;
    const watchLock: handleServerStreamingCall<WatchLockRequest, WatchLockResponse> = (call) => {
      openCount += 1;
      call.on('cancelled', () => (openCount -= 1));
      call.write({ lock: Lock.create({ name: 'first' }) });
    };
    channel = channelTo([await serve({ watchLock })]);
  });

  const iterations = (): [string, AsyncGenerator<unknown, void, undefined>][] => [
    ['watch', watch(channel, methods.watchLock, { name: 'x' })],
    [
      'observe',
      new ElectionClient(
        'x',
        { lock: () => Promise.reject(new Error()), handle: (lease) => lease },
        channel,
      ).observe(),
    ],
  ];

  test('is ended at once by `return`, and so is its stream', async () => {
    for (const [name, iteration] of iterations()) {
      expect([name, (await iteration.next()).done]).toEqual([name, false]);
      const pending = iteration.next();
      expect(await iteration.return()).toEqual({ done: true, value: undefined });
      expect(await pending).toEqual({ done: true, value: undefined });
      await eventually(`the end of the stream of ${name}`, () => openCount === 0);
    }
  });

  test('is ended at once by `throw`, and by the end of a stream of Node', async () => {
    for (const [, iteration] of iterations()) {
      await iteration.next();
      const pending = iteration.next();
      await expect(iteration.throw(new Error('enough'))).rejects.toThrow('enough');
      expect(await pending).toEqual({ done: true, value: undefined });
    }
    for (const [, iteration] of iterations()) {
      await iteration.next();
      await expect(iteration.throw(new Error('enough'))).rejects.toThrow('enough');
      expect(await iteration.next()).toEqual({ done: true, value: undefined });
    }
    for (const [, iteration] of iterations()) {
      const readable = Readable.from(iteration);
      await once(readable, 'data');
      const closed = once(readable, 'close');
      readable.destroy();
      await closed;
    }
    await eventually('the end of the streams', () => openCount === 0);
  });
});

test('a certificate that cannot be read is a HoldfastError that names the file', async () => {
  const channel = channelTo([{ address: '127.0.0.1:1' }], { tls: { ca: '/nowhere/ca.pem' } });
  const error: unknown = await nameAt(channel, { timeout: 200 }).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(HoldfastError);
  expect((error as Error).message).toContain('/nowhere/ca.pem');
  const watching = watch(channel, methods.watchLock, { name: 'x' }, { signal: AbortSignal.timeout(300) });
  expect(await watching.next()).toEqual({ done: true, value: undefined });
});

test('a closed channel rejects calls and watches with a ClosedError', async () => {
  const channel = channelTo([await serve({ getLock: answer('first') })]);
  channel.close();
  await expect(nameAt(channel, {})).rejects.toThrow(ClosedError);
  await expect(watch(channel, methods.watchLock, { name: 'x' }).next()).rejects.toThrow(ClosedError);
});

test('a source without a token is asked again, and then the call rejects with a CredentialError', async () => {
  let count = 0;
  const sealed = () => {
    count += 1;
    return Promise.reject(new Error('the vault is sealed'));
  };
  const token = tokenSource(sealed);
  const channel = channelTo([await serve({ getLock: answer('first') })], { token });
  const call = nameAt(channel, { timeout: '1s' });
  await expect(call).rejects.toThrow(CredentialError);
  expect(count).toBeGreaterThan(1);
});

test('a token that never comes is bounded by the timeout of the call', async () => {
  const token = tokenSource(() => new Promise<string>(() => undefined));
  const channel = channelTo([await serve({ getLock: answer('first') })], { token });
  await expect(nameAt(channel, { timeout: 100 })).rejects.toThrow(UnavailableError);
});

test('no error shows a token that no header may have', async () => {
  const source = tokenSource('secret\u0000word');
  await expect(source?.()).rejects.toThrow('characters that no header may have');
  const error: unknown = await source?.().catch((reason: unknown) => reason);
  expect(String((error as Error).stack)).not.toContain('word');
});
