import { Metadata, status } from '@grpc/grpc-js';
import { once } from 'node:events';
import { createConnection, createServer, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { AcquireLockRequest, LockServiceService } from '../../generated/typescript/holdfast/v1/lock_service';
import type { Call } from '../../src/engine/call';
import { clampedTimeout } from '../../src/transport/grpc/grpc-internals';
import { eventually } from '../support/eventually';
import { LockClient } from '../support/clients/lock-client';
import { TcpProxy } from '../support/proxy/tcp-proxy';
import { someLease } from './fake-engine';
import { acquireRequest, call, failureOf, Harness } from './harness';
import { frame, RawConnection } from './raw-call';

/** What the engine sees of a call, and how it ends when the client does something else than wait. */

const DAY_MS = 86_400_000;

let harness: Harness;
let client: ReturnType<Harness['locks']>;
beforeAll(async () => {
  harness = await Harness.start();
  client = harness.locks();
});
beforeEach(() => harness.logged.splice(0));
afterAll(() => harness.close());

/** What the engine sees of an acquire that is answered at once. */
async function seen(
  options: Parameters<typeof call>[3] = {},
  by = client,
): Promise<Omit<Call, 'onCancelled'>> {
  let engineCall: Omit<Call, 'onCancelled'> | undefined;
  harness.engine.onAcquire = ({ receivedAt, timeoutMs, connection, transportRetry, cancelled }) => {
    engineCall = { receivedAt, timeoutMs, connection, transportRetry, cancelled };
    return Promise.resolve(someLease);
  };
  await call(by, by.acquireLock, acquireRequest(), options);
  return engineCall!;
}

/** An acquire that waits until it is cancelled, and what the engine saw of it. */
function waiting() {
  const state = { call: undefined as Call | undefined, cancelled: 0 };
  harness.engine.onAcquire = (given) => {
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

test('it is received when its handler starts, on the monotonic clock', async () => {
  const before = performance.now();
  const { receivedAt } = await seen();
  expect(receivedAt).toBeGreaterThan(before);
  expect(receivedAt).toBeLessThan(performance.now());
});

describe('its timeout', () => {
  test('is unknown without a deadline', async () => {
    expect((await seen()).timeoutMs).toBeUndefined();
  });

  test.each([
    [5000, 5000],
    [DAY_MS, DAY_MS],
    [20 * DAY_MS, 20 * DAY_MS],
    // grpc-js takes these for times long past, and ends such a call at once.
    [25 * DAY_MS, 24 * DAY_MS],
    [30 * DAY_MS, 24 * DAY_MS],
    [365 * DAY_MS, 24 * DAY_MS],
    [10_000 * DAY_MS, 24 * DAY_MS],
  ])('of %d ms is about %d ms', async (given, expected) => {
    const { timeoutMs } = await seen({ deadline: Date.now() + given });
    expect(timeoutMs).toBeLessThanOrEqual(expected + 1000);
    // grpc-js sends long timeouts in whole minutes or hours.
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
  ])('%j is read as %j', (given, read) => {
    expect(clampedTimeout(given)).toBe(read);
  });

  test('that passes ends the call, and the engine is told', async () => {
    const state = waiting();
    const error = await failureOf(
      call(client, client.acquireLock, acquireRequest(), { deadline: Date.now() + 100 }),
    );
    expect(error.code).toBe(status.DEADLINE_EXCEEDED);
    await eventually('the engine to be told', () => state.cancelled === 1);
  });
});

describe('its connection', () => {
  test('is the same for calls of one client, another for those of another', async () => {
    const [first, second] = [await seen(), await seen()];
    const other = await seen({}, harness.locks());
    expect(first.connection).toBe(second.connection);
    expect(first.connection).not.toBe(other.connection);
  });

  test('is found again on the same call', async () => {
    harness.engine.onAcquire = async (given) => {
      const { connection } = given;
      await sleep(10);
      expect(given.connection).toBe(connection);
      return someLease;
    };
    await call(client, client.acquireLock, acquireRequest());
  });
});

test("gRPC's own retry is told from a first try", async () => {
  expect((await seen()).transportRetry).toBe(false);
  const metadata = new Metadata();
  metadata.set('grpc-previous-rpc-attempts', '1');
  expect((await seen({ metadata })).transportRetry).toBe(true);
});

describe('a client that gives up', () => {
  test('is noticed once, and a rejection that follows goes nowhere', async () => {
    const state = waiting();
    const pending = client.acquireLock(acquireRequest(), () => undefined);
    await eventually('the call to arrive', () => state.call);
    expect(state.call?.cancelled).toBe(false);
    pending.cancel();
    await eventually('the cancel to arrive', () => state.cancelled === 1);
    expect(state.call?.cancelled).toBe(true);
    let late = 0;
    state.call?.onCancelled(() => (late += 1));
    expect(late).toBe(1);
    expect(state.cancelled).toBe(1);
  });

  test('is noticed when its connection goes', async () => {
    const state = waiting();
    const connection = new RawConnection(harness.target);
    const body = frame(AcquireLockRequest.encode(acquireRequest()).finish());
    const pending = connection.call({ path: LockServiceService.acquireLock.path, body });
    await eventually('the call to arrive', () => state.call);
    connection.close();
    await eventually('the cancel to arrive', () => state.cancelled === 1);
    expect((await pending).code).toBeUndefined();
  });

  test('is noticed when its network swallows everything without a word', async () => {
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
    pinging.engine.onAcquire = (given) => {
      state = { arrived: true, cancelled: 0 };
      given.onCancelled(() => (state.cancelled += 1));
      return new Promise(() => undefined);
    };
    const connection = new RawConnection(`127.0.0.1:${port}`);
    const body = frame(AcquireLockRequest.encode(acquireRequest()).finish());
    const pending = connection.call({ path: LockServiceService.acquireLock.path, body });
    await eventually('the call to arrive', () => state.arrived);
    // As long as pings are answered the call stays.
    await sleep(1000);
    expect(state.cancelled).toBe(0);
    for (const socket of sockets) socket.unpipe().pause();
    const swallowed = performance.now();
    await eventually('the cancel to arrive', () => state.cancelled === 1);
    expect(performance.now() - swallowed).toBeLessThan(1500);
    for (const socket of sockets) socket.destroy();
    network.close();
    connection.close();
    await pending;
    await pinging.close();
  });

  test('opens no stream where it had gone before a server that was stopped could read its call', async () => {
    const targetPort = Number(harness.target.split(':')[1]);
    const proxy = await TcpProxy.open({ targetPort, protocol: 'tcp' });
    const leaving = new LockClient(proxy.address);
    await leaving.get('connected');
    // The call and its cancel are to come in one read, as they lie in the socket of a server that goes on.
    proxy.blackHole('toTarget');
    const sent = proxy.bytes.toTarget;
    const stream = leaving.attach(someLease.leaseId);
    await eventually('the call to leave', () => proxy.bytes.toTarget > sent + someLease.leaseId.length + 20);
    const called = proxy.bytes.toTarget;
    stream.cancel();
    await eventually('its cancel to leave', () => proxy.bytes.toTarget > called);
    harness.engine.asked.splice(0);
    proxy.passEverything();
    // What is asked after it is answered after it.
    await leaving.get('behind');
    expect(harness.engine.asked).toEqual([{ verb: 'inspect', service: 'lock', name: 'behind' }]);
    leaving.close();
    await proxy.close();
  });

  test('breaks nothing where the listener itself is broken', async () => {
    let given: Call | undefined;
    harness.engine.onAcquire = (arrived) => {
      given = arrived;
      arrived.onCancelled(() => {
        throw new Error('broken listener');
      });
      return new Promise(() => undefined);
    };
    const pending = client.acquireLock(acquireRequest(), () => undefined);
    await eventually('the call to arrive', () => given);
    pending.cancel();
    await eventually('the log to say so', () => harness.logged.length > 0);
    expect(harness.logged).toMatchObject([
      { level: 'error', fields: { err: { message: 'broken listener' } } },
    ]);
  });
});

test('a call that was answered is not cancelled afterwards', async () => {
  let told = 0;
  let answered: Call | undefined;
  harness.engine.onAcquire = (given) => {
    given.onCancelled(() => (told += 1));
    answered = given;
    return Promise.resolve(someLease);
  };
  await call(client, client.acquireLock, acquireRequest());
  // grpc-js emits 'cancelled' a tick after every call.
  await sleep(50);
  expect(told).toBe(0);
  expect(answered?.cancelled).toBe(false);
});
