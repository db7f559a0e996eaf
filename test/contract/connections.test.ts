import { EventEmitter } from 'node:events';
import { stat } from 'node:fs';
import { connect, constants, type ServerHttp2Session } from 'node:http2';
import { setTimeout as sleep } from 'node:timers/promises';
import { credentials, status } from '@grpc/grpc-js';
import { HealthClient } from '../../generated/typescript/grpc/health/v1/health';
import { SuggestStreamRequest } from '../../generated/typescript/holdfast/v1/autocomplete_service';
import {
  AcquireLockRequest,
  HoldLockRequest,
  LockServiceClient,
} from '../../generated/typescript/holdfast/v1/lock_service';
import type { Call } from '../../src/base/call';
import { parseLeaseId } from '../../src/leases/lease-id';
import type { LeaseOwner } from '../../src/leases/lease-requests';
import { keepAlive, limitAge } from '../../src/rpc/entry/connections';
import { lock, SessionStream } from '../support/clients/session-stream';
import { eventually } from '../support/eventually';
import { TcpProxy } from '../support/proxy/tcp-proxy';
import { suggestRequest } from './autocomplete-calls';
import { newYork, someLease } from './fake-engines';
import { acquireRequest, call, drainStream, failureOf, Harness, UUID_V4 } from './harness';
import { frame, RawConnection, type RawOutcome } from './raw-call';

describe('keep alive', () => {
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
});

describe('connection age', () => {
  /** Connections that reach their maximum age. */

  const MAX_AGE_MS = 500;

  let harness: Harness;
  /** The connections of the calls that reached the engine. */
  let connections: Set<object>;
  /** The commands of sessions that have a lease. */
  let owners: LeaseOwner[];
  beforeEach(async () => {
    harness = await Harness.start({ connectionMaxAgeMs: MAX_AGE_MS });
    connections = new Set();
    owners = [];
    harness.permits.answers.take = (_call, _service, _start, owner) => grantTo(owner);
  });
  afterEach(() => harness.close());

  /** Grants the acquires of sessions. */
  function grantTo(owner: LeaseOwner): Promise<void> {
    const id = parseLeaseId('lock', someLease.leaseId);
    owner.send({ kind: 'granted', lease: someLease });
    owner.hold({ id, lastEnd: 0, abandon: () => undefined, revokeHeld: () => undefined });
    owners.push(owner);
    return Promise.resolve();
  }

  const seen = ({ connection }: Call): void => void connections.add(connection);

  test('a client that sends calls all the time moves to new connections, and no call fails', async () => {
    harness.permits.answers.inspect = (engineCall) => {
      seen(engineCall);
      return Promise.reject(new Error('seen'));
    };
    const locks = harness.locks();
    let failures = 0;
    const ask = async (): Promise<void> => {
      const { code } = await failureOf(call(locks, locks.getLock, { name: 'a' }));
      if (code !== status.INTERNAL) failures += 1;
    };
    while (connections.size < 4) await Promise.all(Array.from({ length: 20 }, ask));
    expect(failures).toBe(0);
  });

  test('a call that was sent before the announcement arrived is repeated immediately, while an older call keeps the connection open', async () => {
    const port = Number(harness.target.split(':').at(-1));
    const proxy = await TcpProxy.open({ targetPort: port, protocol: 'tcp' });
    const locks = new LockServiceClient(proxy.address, credentials.createInsecure());
    harness.permits.answers.acquire = (engineCall) => {
      seen(engineCall);
      return new Promise(() => undefined);
    };
    harness.permits.answers.inspect = (engineCall) => {
      seen(engineCall);
      return Promise.reject(new Error('seen'));
    };
    let olderEnded = false;
    const older = failureOf(call(locks, locks.acquireLock, acquireRequest())).finally(
      () => (olderEnded = true),
    );
    await eventually('the older call', () => connections.size === 1);
    proxy.blackHole('toTarget');
    const onItsWay = failureOf(call(locks, locks.getLock, { name: 'a' }));
    // The client opens a second connection when it has read the announcement.
    await eventually('the second connection', () => proxy.connectionCount === 2);
    proxy.passEverything();
    expect((await onItsWay).code).toBe(status.INTERNAL);
    expect(olderEnded).toBe(false);
    expect(connections.size).toBe(2);
    expect(harness.permits.verbs).toEqual(['acquire', 'inspect']);
    locks.close();
    await proxy.close();
    await older;
  });

  test('a hold stream ends with REATTACH and an immediate retry, and its lease is not released', async () => {
    harness.permits.answers.hold = (_call, _service, _start, sink) => {
      sink.send({ kind: 'granted', lease: someLease });
      return new Promise(() => undefined);
    };
    const stream = harness.locks().holdLock({
      start: { $case: 'acquire', value: acquireRequest({ requestId: UUID_V4 }) },
    });
    const { messages, error } = await drainStream(stream);
    expect(messages).toHaveLength(1);
    expect(error?.code).toBe(status.UNAVAILABLE);
    expect(error?.details).toBe(
      'the connection has reached its maximum age: a lease or a wait continues; open the stream again [REATTACH]',
    );
    expect(error?.metadata.get('grpc-retry-pushback-ms')).toEqual(['0']);
    expect(harness.permits.verbs).toEqual(['hold']);
  });

  test('a session is asked to leave, continues, and ends with REATTACH when its last lease has ended', async () => {
    const session = new SessionStream(harness.target);
    const number = session.run(lock('a'));
    await session.event(number, 'granted');
    await eventually('leaving', () => session.responses.some(({ leaving }) => leaving !== undefined));
    await session.event(session.run(lock('b')), 'granted');
    for (const owner of owners) owner.end(undefined);
    const { code, reason, text, pushback } = await session.ending;
    expect([code, reason, pushback]).toEqual(['UNAVAILABLE', 'REATTACH', '0']);
    expect(text).toContain('the connection of this session has reached its maximum age');
    session.close();
  });

  test('a session without leases gets a delay for its next session, and ends with REATTACH', async () => {
    const session = new SessionStream(harness.target);
    expect((await session.ending).reason).toBe('REATTACH');
    expect(session.responses.at(-1)?.leaving?.retryDelay).toBeDefined();
    session.close();
  });

  test('a unary call that waits gets its answer on the old connection', async () => {
    harness.permits.answers.acquire = async () => {
      await new Promise((resolve) => setTimeout(resolve, 4 * MAX_AGE_MS));
      return someLease;
    };
    const locks = harness.locks();
    const { lease } = await call(locks, locks.acquireLock, acquireRequest());
    expect(lease?.name).toBe('hello');
  });

  test('a connection without calls is closed, also the connection of a client that ignores the announcement', async () => {
    const connection = new RawConnection(harness.target);
    await connection.call({ path: '/grpc.health.v1.Health/Check', body: frame(Buffer.alloc(0)) });
    await eventually('the end of the connection', () => connection.closed);
  });

  test('connections have no maximum age by default', async () => {
    const young = await Harness.start();
    const connection = new RawConnection(young.target);
    const hold = connection.open({ path: '/holdfast.v1.LockService/HoldLock' });
    young.permits.answers.hold = () => new Promise(() => undefined);
    hold.write(
      frame(HoldLockRequest.encode({ start: { $case: 'leaseId', value: someLease.leaseId } }).finish()),
    );
    hold.end();
    const health = young.client(HealthClient);
    await new Promise((resolve) => setTimeout(resolve, 2 * MAX_AGE_MS));
    expect(await call(health, health.check, { service: '' })).toEqual({ status: 1 });
    expect(connection.closed).toBe(false);
    connection.close();
    await young.close();
  });
});

describe('connection cut', () => {
  /** A connection with calls that never end. */

  const HOUR_MS = 3_600_000;

  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  function aged(maxAgeMs: number) {
    const done: string[] = [];
    const session = Object.assign(new EventEmitter(), { close: () => done.push('announced') });
    limitAge(session as unknown as ServerHttp2Session, maxAgeMs, {
      endStreams: () => done.push('streams ended'),
      cut: () => done.push('cut'),
    });
    return { done, session };
  }

  test('a connection is cut after its maximum age has passed again', () => {
    const { done } = aged(HOUR_MS);
    jest.advanceTimersByTime(1.2 * HOUR_MS);
    // The second time is for streams that waited at the gate.
    expect(done).toEqual(['announced', 'streams ended', 'streams ended']);
    jest.advanceTimersByTime(HOUR_MS);
    expect(done.at(-1)).toBe('cut');
  });

  test('calls on a connection with a short maximum age have a minute for their end', () => {
    const { done } = aged(1000);
    jest.advanceTimersByTime(60_000);
    expect(done).not.toContain('cut');
    jest.advanceTimersByTime(2000);
    expect(done).toContain('cut');
  });

  test('a connection that was closed is not cut', () => {
    const { done, session } = aged(HOUR_MS);
    session.emit('close');
    jest.advanceTimersByTime(3 * HOUR_MS);
    expect(done).toEqual([]);
  });
});
