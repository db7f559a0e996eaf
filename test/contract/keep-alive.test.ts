import { EventEmitter } from 'node:events';
import { stat } from 'node:fs';
import { connect, constants, type ServerHttp2Session } from 'node:http2';
import { setTimeout as sleep } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import { SuggestStreamRequest } from '../../generated/typescript/holdfast/v1/autocomplete_service';
import { AcquireLockRequest, HoldLockRequest } from '../../generated/typescript/holdfast/v1/lock_service';
import { keepAlive } from '../../src/rpc/entry/connections';
import { eventually } from '../support/eventually';
import { TcpProxy } from '../support/proxy/tcp-proxy';
import { suggestRequest } from './autocomplete-calls';
import { newYork, someLease } from './fake-engines';
import { acquireRequest, Harness } from './harness';
import { frame, RawConnection, type RawOutcome } from './raw-call';

/** A client with a connection that no longer answers pings. */

const KEEPALIVE_MS = 200;

let harness: Harness;
let proxy: TcpProxy;
let connection: RawConnection;
/** The number of handlers that have been informed of the end of their call. */
let cancelled: number;
beforeEach(async () => {
  cancelled = 0;
  harness = await Harness.start({ keepaliveMs: KEEPALIVE_MS });
  proxy = await TcpProxy.open({ targetPort: Number(harness.target.split(':')[1]), protocol: 'tcp' });
  connection = new RawConnection(proxy.address);
  harness.permits.answers.hold = (call, _service, _start, sink) => {
    call.onCancelled(() => (cancelled += 1));
    sink.send({ kind: 'granted', lease: someLease });
    return new Promise(() => undefined);
  };
  harness.permits.answers.acquire = (call) => {
    call.onCancelled(() => (cancelled += 1));
    return new Promise(() => undefined);
  };
});
afterEach(async () => {
  connection.close();
  await proxy.close();
  await harness.close();
});

const holdBody = frame(
  HoldLockRequest.encode({ start: { $case: 'leaseId', value: someLease.leaseId } }).finish(),
);

/** Opens a stream that has sent an event, a stream that has sent nothing, a half-open stream, and a unary call. */
async function openCalls(): Promise<Readonly<Record<string, Promise<RawOutcome>>>> {
  const hold = connection.open({ path: '/holdfast.v1.LockService/HoldLock' });
  hold.write(holdBody);
  hold.end();
  await eventually('the first event', () => hold.receivedBytes > 0);
  const silent = connection.open({ path: '/holdfast.v1.AutocompleteService/SuggestStream' });
  const suggest = connection.open({ path: '/holdfast.v1.AutocompleteService/SuggestStream' });
  suggest.write(frame(SuggestStreamRequest.encode({ queryId: 1n, suggest: suggestRequest() }).finish()));
  await eventually('the first suggestions', () => suggest.receivedBytes > 0);
  const acquire = connection.open({ path: '/holdfast.v1.LockService/AcquireLock' });
  acquire.write(frame(AcquireLockRequest.encode(acquireRequest()).finish()));
  acquire.end();
  await eventually('the calls to arrive', () => harness.permits.calls.length === 2);
  return {
    hold: hold.outcome,
    silent: silent.outcome,
    suggest: suggest.outcome,
    acquire: acquire.outcome,
  };
}

async function expectUnavailable(
  calls: Awaited<ReturnType<typeof openCalls>>,
  problem = 'left an HTTP/2 ping unanswered for 200 ms',
): Promise<void> {
  const streamEnd = {
    code: status.UNAVAILABLE,
    reason: 'REATTACH',
    message: `the connection ${problem}: a lease or a wait continues; open the stream again [REATTACH]`,
  };
  expect(await calls.hold).toMatchObject(streamEnd);
  expect((await calls.hold)?.headers['grpc-retry-pushback-ms']).toBe('0');
  expect(await calls.silent).toMatchObject(streamEnd);
  expect(await calls.suggest).toMatchObject(streamEnd);
  expect(await calls.acquire).toMatchObject({ code: status.UNAVAILABLE, reason: undefined });
}

test('all calls end with UNAVAILABLE when the answers to pings do not arrive', async () => {
  const calls = await openCalls();
  proxy.blackHole('toTarget');
  await expectUnavailable(calls);
  await eventually('the handlers to be informed', () => cancelled === 2);
  expect(harness.logged).toEqual([]);
});

test('all calls end with UNAVAILABLE some time after the client announced the end of the connection', async () => {
  const calls = await openCalls();
  await connection.announceEnd();
  proxy.blackHole('toTarget');
  await expectUnavailable(calls, 'was to end, as the client said 400 ms ago');
  await eventually('the handlers to be informed', () => cancelled === 2);
});

test('a connection that is to end is lost also if an earlier ping is answered after the announcement', async () => {
  const answers: (() => void)[] = [];
  const session = Object.assign(new EventEmitter(), {
    destroyed: false,
    closed: false,
    ping: (answer: () => void) => void answers.push(answer),
  });
  const problems: string[] = [];
  const times = { timeMs: 10, timeoutMs: 2000 };
  keepAlive(session as unknown as ServerHttp2Session, times, (problem) => problems.push(problem));
  await eventually('a ping', () => answers.length === 1);
  session.emit('goaway');
  session.closed = true;
  answers[0]!();
  await eventually('the end', () => problems.length > 0);
  expect(problems).toEqual([expect.stringContaining('was to end')]);
  session.emit('close');
});

test('all calls have ended with UNAVAILABLE when an interrupted connection works again', async () => {
  const calls = await openCalls();
  proxy.blackHole('both');
  await eventually('the handlers to be informed', () => cancelled === 2);
  // The server closes the connection meanwhile.
  await sleep(1500);
  proxy.passEverything();
  await expectUnavailable(calls);
});

test('no stream is reset when its status cannot leave, because the client reads nothing', async () => {
  const large = { ...newYork, payload: Buffer.alloc(500_000) };
  harness.autocomplete.answers.suggest = () => Promise.resolve({ suggestions: [large], nextPageToken: '' });
  const client = connect(`http://${proxy.address}`).on('error', () => undefined);
  const stream = client.request({
    ':method': 'POST',
    ':path': '/holdfast.v1.AutocompleteService/SuggestStream',
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  stream.on('error', () => undefined);
  stream.write(frame(SuggestStreamRequest.encode({ queryId: 1n, suggest: suggestRequest() }).finish()));
  await eventually('the window to be full', () => proxy.bytes.toClient > 60_000);
  proxy.blackHole('toTarget');
  await eventually('the end of the connection', () => client.destroyed);
  // Node gives this code to the streams of a connection that ends. A reset by the server has the code NO_ERROR.
  expect(stream.rstCode).toBe(constants.NGHTTP2_CANCEL);
});

test('an answer that arrived while the process was paused counts', async () => {
  let silent = 0;
  let pings = 0;
  const session = {
    destroyed: false,
    closed: false,
    once: () => undefined,
    ping: (answer: () => void) => {
      pings += 1;
      stat('.', () => answer());
      const until = performance.now() + 100;
      while (performance.now() < until);
    },
  };
  keepAlive(session as unknown as ServerHttp2Session, { timeMs: 10, timeoutMs: 50 }, () => (silent += 1));
  await eventually('some pings', () => pings > 3);
  session.destroyed = true;
  expect(silent).toBe(0);
});
