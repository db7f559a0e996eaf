import { once } from 'node:events';
import { sensitiveHeaders } from 'node:http2';
import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { BinaryWriter } from '@bufbuild/protobuf/wire';
import { Metadata, status } from '@grpc/grpc-js';
import {
  AcquireLockRequest,
  GetLockRequest,
  LockServiceService,
} from '../../generated/typescript/holdfast/v1/lock_service';
import type { Call } from '../../src/base/call';
import { HoldfastError } from '../../src/base/errors';
import { clampTimeout } from '../../src/rpc/entry/http2-arrival';
import { serializer, sharedSerializer } from '../../src/rpc/wire';
import { LockClient } from '../support/clients/lease-client';
import { eventually, eventuallyPasses } from '../support/eventually';
import { TcpProxy } from '../support/proxy/tcp-proxy';
import { Stopwatch } from '../support/stopwatch';
import { someLease } from './fake-engines';
import { acquireRequest, call, failureOf, Harness } from './harness';
import { frame, RawConnection } from './raw-call';

describe('a call', () => {
  /** Checks the data of a call that the engine receives, and the end of a call that its client cancels. */

  const DAY_MS = 86_400_000;

  let harness: Harness;
  let client: ReturnType<Harness['locks']>;
  beforeAll(async () => {
    harness = await Harness.start();
    client = harness.locks();
  });
  beforeEach(() => harness.logged.splice(0));
  afterAll(() => harness.close());

  type ReceivedCall = Omit<Call, 'onCancelled' | 'identity' | 'account' | 'quotas' | 'hidesHolders'>;

  /** Makes an acquire that is answered immediately, and returns the call as the engine received it. */
  async function receivedCall(options: Parameters<typeof call>[3] = {}, by = client): Promise<ReceivedCall> {
    let engineCall: ReceivedCall | undefined;
    harness.permits.answers.acquire = ({ receivedAt, timeoutMs, connection, transportRetry, cancelled }) => {
      engineCall = { receivedAt, timeoutMs, connection, transportRetry, cancelled };
      return Promise.resolve(someLease);
    };
    await call(by, by.acquireLock, acquireRequest(), options);
    return engineCall!;
  }

  /** Lets acquires wait until they are cancelled. */
  function waitForCancel() {
    const state = { call: undefined as Call | undefined, cancelled: 0 };
    harness.permits.answers.acquire = (given) => {
      state.call = given;
      return new Promise((_resolve, reject) => {
        given.onCancelled(() => {
          state.cancelled += 1;
          reject(new Error('the call is cancelled'));
        });
      });
    };
    return state;
  }

  test('receivedAt is the monotonic time at which the handler starts', async () => {
    const before = performance.now();
    const { receivedAt } = await receivedCall();
    expect(receivedAt).toBeGreaterThan(before);
    expect(receivedAt).toBeLessThan(performance.now());
  });

  test('an answer has no date and no other header that gRPC does not need', async () => {
    harness.permits.answers.acquire = () => Promise.resolve(someLease);
    const connection = new RawConnection(harness.target);
    const body = frame(AcquireLockRequest.encode(acquireRequest()).finish());
    const { headers } = await connection.call({ path: LockServiceService.acquireLock.path, body });
    connection.close();
    expect({ ...headers, [sensitiveHeaders]: undefined }).toEqual({
      ':status': 200,
      'content-type': 'application/grpc+proto',
      'grpc-accept-encoding': 'identity,deflate,gzip',
      'grpc-status': '0',
      'grpc-message': 'OK',
    });
  });

  describe('timeoutMs of a call', () => {
    test('is undefined without a deadline', async () => {
      expect((await receivedCall()).timeoutMs).toBeUndefined();
    });

    test.each([
      [5000, 5000],
      [DAY_MS, DAY_MS],
      [20 * DAY_MS, 20 * DAY_MS],
      // grpc-js overflows with these timeouts, and would end the call immediately.
      [25 * DAY_MS, 24 * DAY_MS],
      [30 * DAY_MS, 24 * DAY_MS],
      [365 * DAY_MS, 24 * DAY_MS],
      [10_000 * DAY_MS, 24 * DAY_MS],
    ])('for a deadline %d ms from now is about %d ms', async (given, expected) => {
      const { timeoutMs } = await receivedCall({ deadline: Date.now() + given });
      expect(timeoutMs).toBeLessThanOrEqual(expected + 1000);
      // The client of grpc-js sends a long timeout in whole minutes or hours.
      expect(timeoutMs).toBeGreaterThan(expected * 0.999 - 1000);
    });

    test.each([
      ['99999999m', '99999999m'],
      ['5S', '5S'],
      ['2073600S', '2073600S'],
      ['2073601S', '2073600S'],
      ['99999999S', '2073600S'],
      ['34561M', '2073600S'],
      ['576H', '576H'],
      ['577H', '2073600S'],
      ['99999999H', '2073600S'],
      ['99999999u', '99999999u'],
      ['soon', 'soon'],
      ['S', 'S'],
      ['', ''],
    ])('comes from the header grpc-timeout: %j counts as %j', (given, clamped) => {
      const headers = { 'grpc-timeout': given };
      clampTimeout(headers);
      expect(headers).toEqual({ 'grpc-timeout': clamped });
    });

    test('limits the call: the engine is notified when the deadline has passed', async () => {
      const state = waitForCancel();
      const error = await failureOf(
        call(client, client.acquireLock, acquireRequest(), { deadline: Date.now() + 100 }),
      );
      expect(error.code).toBe(status.DEADLINE_EXCEEDED);
      await eventually('the cancellation to arrive', () => state.cancelled === 1);
    });
  });

  describe('connection of a call', () => {
    test('is the same object for all calls of a client connection', async () => {
      const [first, second] = [await receivedCall(), await receivedCall()];
      const other = await receivedCall({}, harness.locks());
      expect(first.connection).toBe(second.connection);
      expect(first.connection).not.toBe(other.connection);
    });

    test('stays the same object during a call', async () => {
      harness.permits.answers.acquire = async (given) => {
        const { connection } = given;
        await sleep(10);
        expect(given.connection).toBe(connection);
        return someLease;
      };
      await call(client, client.acquireLock, acquireRequest());
    });
  });

  test('transportRetry is true only for a retry by the gRPC library', async () => {
    expect((await receivedCall()).transportRetry).toBe(false);
    const metadata = new Metadata();
    metadata.set('grpc-previous-rpc-attempts', '1');
    expect((await receivedCall({ metadata })).transportRetry).toBe(true);
  });

  describe('a cancelled call', () => {
    test('notifies each listener once, and ignores a later rejection of the handler', async () => {
      const state = waitForCancel();
      const pending = client.acquireLock(acquireRequest(), () => undefined);
      await eventually('the call to arrive', () => state.call);
      expect(state.call?.cancelled).toBe(false);
      pending.cancel();
      await eventually('the cancellation to arrive', () => state.cancelled === 1);
      expect(state.call?.cancelled).toBe(true);
      let late = 0;
      state.call?.onCancelled(() => (late += 1));
      expect(late).toBe(1);
      expect(state.cancelled).toBe(1);
    });

    test('is reported when the connection closes', async () => {
      const state = waitForCancel();
      const connection = new RawConnection(harness.target);
      const body = frame(AcquireLockRequest.encode(acquireRequest()).finish());
      const pending = connection.call({ path: LockServiceService.acquireLock.path, body });
      await eventually('the call to arrive', () => state.call);
      connection.close();
      await eventually('the cancellation to arrive', () => state.cancelled === 1);
      expect((await pending).code).toBeUndefined();
    });

    test('is reported when the network drops all packets silently', async () => {
      const pinging = await Harness.start({ keepaliveMs: 200 });
      const sockets: Socket[] = [];
      const network = createServer((near) => {
        const far = createConnection(Number(pinging.target.split(':')[1]), '127.0.0.1');
        sockets.push(near.pipe(far), far.pipe(near));
        for (const socket of [near, far]) socket.on('error', () => undefined);
      }).listen(0, '127.0.0.1');
      await once(network, 'listening');
      const { port } = network.address() as AddressInfo;
      let state = { arrived: false, cancelled: 0 };
      pinging.permits.answers.acquire = (given) => {
        state = { arrived: true, cancelled: 0 };
        given.onCancelled(() => (state.cancelled += 1));
        return new Promise(() => undefined);
      };
      const connection = new RawConnection(`127.0.0.1:${port}`);
      const body = frame(AcquireLockRequest.encode(acquireRequest()).finish());
      const pending = connection.call({ path: LockServiceService.acquireLock.path, body });
      await eventually('the call to arrive', () => state.arrived);
      // The client answers pings, so the call stays open.
      await sleep(1000);
      expect(state.cancelled).toBe(0);
      for (const socket of sockets) socket.unpipe().pause();
      const stopwatch = new Stopwatch();
      await eventually('the cancellation to arrive', () => state.cancelled === 1);
      expect(stopwatch.chargedMs).toBeLessThan(1500);
      for (const socket of sockets) socket.destroy();
      network.close();
      connection.close();
      await pending;
      await pinging.close();
    });

    test('does not reach the engine if the server reads the call and its cancellation together', async () => {
      const targetPort = Number(harness.target.split(':')[1]);
      const proxy = await TcpProxy.open({ targetPort, protocol: 'tcp' });
      const leaving = new LockClient(proxy.address);
      await leaving.get('connected');
      // The proxy holds the call back, so the server reads the call and its cancellation in one chunk.
      proxy.blackHole('toTarget');
      const sent = proxy.bytes.toTarget;
      const stream = leaving.attach(someLease.leaseId);
      await eventually(
        'the call to leave',
        () => proxy.bytes.toTarget > sent + someLease.leaseId.length + 20,
      );
      const called = proxy.bytes.toTarget;
      stream.cancel();
      await eventually('the cancellation to leave', () => proxy.bytes.toTarget > called);
      harness.permits.calls.splice(0);
      proxy.passEverything();
      // The server reads a connection in order, so the answer to this call comes after the cancelled call.
      await leaving.get('behind');
      expect(harness.permits.calls).toEqual([['inspect', 'lock', 'behind']]);
      leaving.close();
      await proxy.close();
    });

    test('logs the error of a listener that throws', async () => {
      let given: Call | undefined;
      harness.permits.answers.acquire = (arrived) => {
        given = arrived;
        arrived.onCancelled(() => {
          throw new Error('broken listener');
        });
        return new Promise(() => undefined);
      };
      const pending = client.acquireLock(acquireRequest(), () => undefined);
      await eventually('the call to arrive', () => given);
      pending.cancel();
      await eventually('the log line', () => harness.logged.length > 0);
      expect(harness.logged).toMatchObject([
        { level: 'error', fields: { err: { message: 'broken listener' } } },
      ]);
    });
  });

  test('an answered call is not reported as cancelled', async () => {
    let cancelled = 0;
    let answered: Call | undefined;
    harness.permits.answers.acquire = (given) => {
      given.onCancelled(() => (cancelled += 1));
      answered = given;
      return Promise.resolve(someLease);
    };
    await call(client, client.acquireLock, acquireRequest());
    // grpc-js emits 'cancelled' one tick after every call.
    await sleep(50);
    expect(cancelled).toBe(0);
    expect(answered?.cancelled).toBe(false);
  });
});

describe('call meters', () => {
  /** The counts of calls, which /metrics shows. */

  let harness: Harness;
  beforeEach(async () => {
    harness = await Harness.start();
  });
  afterEach(() => harness.close());

  /** The ended calls of a method by the name of their status. */
  function handled(method: string): Record<string, number> {
    const codes = harness.meterOf(method).handled.map((count, code) => [status[code], count] as const);
    return Object.fromEntries(codes.filter(([, count]) => count > 0));
  }

  test('counts a call, its messages, its status and its time', async () => {
    const client = harness.locks();
    harness.permits.answers.acquire = () => Promise.resolve(someLease);
    await call(client, client.acquireLock, acquireRequest());
    harness.permits.answers.acquire = () => Promise.reject(new HoldfastError('CONTENDED', 'held'));
    await failureOf(call(client, client.acquireLock, acquireRequest()));
    const { startedCount, receivedCount, sentCount, ms } = harness.meterOf('AcquireLock');
    expect({ startedCount, receivedCount, sentCount }).toEqual({
      startedCount: 2,
      receivedCount: 2,
      sentCount: 1,
    });
    expect(handled('AcquireLock')).toEqual({ OK: 1, ABORTED: 1 });
    expect(ms?.counts.reduce((sum, count) => sum + count)).toBe(2);
  });

  test('counts a call that its client cancels once, as CANCELLED', async () => {
    const client = harness.locks();
    harness.permits.answers.acquire = (given) =>
      new Promise((_resolve, reject) => given.onCancelled(() => reject(new Error('cancelled'))));
    const pending = client.acquireLock(acquireRequest(), () => undefined);
    await eventuallyPasses('the call arrives', () =>
      expect(harness.meterOf('AcquireLock').startedCount).toBe(1),
    );
    pending.cancel();
    await eventuallyPasses('the call is counted', () =>
      expect(handled('AcquireLock')).toEqual({ CANCELLED: 1 }),
    );
    await harness.close();
    expect(handled('AcquireLock')).toEqual({ CANCELLED: 1 });
  });

  test('counts the messages of a stream, and not its time', async () => {
    const stream = harness.health().watch({ service: '' });
    stream.on('error', () => undefined);
    await eventuallyPasses('the state is sent', () => expect(harness.meterOf('Watch').sentCount).toBe(1));
    stream.cancel();
    await eventuallyPasses('the end is counted', () => expect(handled('Watch')).toEqual({ CANCELLED: 1 }));
    expect(harness.meterOf('Watch').ms).toBeUndefined();
  });

  test('has a meter for each method from the start', () => {
    expect(harness.meterOf('OpenSession')).toMatchObject({ type: 'bidi_stream', startedCount: 0 });
    expect(harness.meterOf('ImportDictionary').type).toBe('client_stream');
    expect(harness.meterOf('HoldLock').type).toBe('server_stream');
  });
});

describe('serializers', () => {
  const serialize = serializer(GetLockRequest);

  test('the serializer writes the same bytes as the generated code, at any length', () => {
    for (const length of [0, 1, 127, 128, 5000, 3, 100_000, 1]) {
      const message = { name: '€'.repeat(length) };
      expect(serialize(message).equals(LockServiceService.getLock.requestSerialize(message))).toBe(true);
    }
  });

  test('the serializer does not change the bytes of a message when the next message is written', () => {
    const first = serialize({ name: 'first' });
    const copy = Buffer.from(first);
    serialize({ name: 'other' });
    expect(first.equals(copy)).toBe(true);
  });

  test('the serializer drops the bytes of a write that failed', () => {
    const broken = serializer<{ name: string; bad: boolean }>({
      encode: (message, writer = new BinaryWriter()) => {
        GetLockRequest.encode(message, writer);
        if (message.bad) throw new Error('bad');
        return writer;
      },
    });
    expect(() => broken({ name: 'half', bad: true })).toThrow('bad');
    expect(broken({ name: 'whole', bad: false }).equals(serialize({ name: 'whole' }))).toBe(true);
  });

  test('the shared serializer serializes a message object once, and an equal object again', () => {
    const shared = sharedSerializer(GetLockRequest);
    const message = { name: 'watched' };
    expect(shared(message).equals(serialize(message))).toBe(true);
    expect(shared(message)).toBe(shared(message));
    expect(shared({ ...message })).not.toBe(shared(message));
  });
});
