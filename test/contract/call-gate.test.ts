import { EventEmitter } from 'node:events';
import { readFileSync } from 'node:fs';
import type { IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from 'node:http2';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import { describedFiles } from '../../src/access/verbs';
import { HoldfastError } from '../../src/base/errors';
import { defaultLimits } from '../../src/leases/lease';
import { lockService } from '../../src/leases/service/lease-services';
import { ERROR_TABLE } from '../../src/rpc/call-errors';
import { Arrival, type CallKind, CallSource, UNKNOWN_CALL, networkOf } from '../../src/rpc/entry/arrival';
import { CallGate, MAX_UNARY_CALLS, MAX_URGENT_CALLS } from '../../src/rpc/entry/gate';
import { Http2Arrival, Http2Source, shortenTimeout, timeoutMs } from '../../src/rpc/entry/http2-arrival';
import { offeredCalls } from '../../src/rpc/service';
import { Health } from '../../src/server/health';
import { ManualClock, settled } from '../support/manual-clock';
import { ROOT } from '../support/root';
import { fakePermits } from './fake-engines';

/** The gate behind a door of the test, which knows nothing of HTTP/2. */

const KINDS: Readonly<Record<string, CallKind>> = {
  check: { priority: 'high', unary: true, isProbe: true, isOpen: true },
  acquire: { priority: 'normal', unary: true },
  release: { priority: 'high', unary: true },
  read: { priority: 'low', unary: true },
  hold: { priority: 'normal', unary: false },
  put: { priority: 'low', unary: true, bytes: 2 ** 20 },
};

const kindOf = (path: string): CallKind => KINDS[path.split(' ')[0]!]!;

/** A connection as the gate sees it. */
class FakeConnection extends CallSource {
  readonly isOpen = true;
  readonly isWriting = false;
  /** Whether the door reads the connection. */
  reads = true;

  constructor(address = '10.0.0.1') {
    super(networkOf(address));
    gate.connected(this);
  }

  setReading(reading: boolean): void {
    this.reads = reading;
  }

  cut(): void {
    cut.push(this);
  }
}

/** A call of the door. Its client takes the answer at once, unless `takesAnswer` is false. */
class FakeArrival extends Arrival {
  readonly peer = '';
  readonly connection: object;
  readonly trace = {};
  isClosed = false;
  takesAnswer = true;
  status: number | undefined;
  reason: string | undefined;
  message = '';
  private readonly listeners: (() => void)[] = [];
  /** Of this test, because the calls of the test before may begin later. */
  private readonly served = served;

  constructor(
    readonly method: string,
    source: CallSource,
    readonly authorization: readonly string[],
    readonly timeoutMs: number | undefined,
  ) {
    super(kindOf(method), source);
    this.connection = source;
  }

  peerCertificate(): undefined {
    return undefined;
  }

  hold(): void {}

  serve(): void {
    this.served.push(this.method);
  }

  refuse({ reason, message }: HoldfastError): void {
    this.status = ERROR_TABLE[reason].code;
    this.reason = reason;
    this.message = message;
    if (this.takesAnswer) this.end();
  }

  onClose(listener: () => void): void {
    this.listeners.push(listener);
  }

  end(): void {
    this.isClosed = true;
    for (const listener of this.listeners.splice(0)) listener();
  }
}

const clock = new ManualClock();
let gate: CallGate;
let served: string[];
let cut: CallSource[];
let arrived: FakeArrival[];
beforeEach(() => {
  gate = new CallGate({ clock });
  served = [];
  cut = [];
  arrived = [];
});

interface Given {
  readonly authorization?: string;
  readonly timeoutMs?: number;
}

function arrive(on: FakeConnection, path: string, { authorization, timeoutMs: ms }: Given = {}): FakeArrival {
  const call = new FakeArrival(path, on, authorization === undefined ? [] : [authorization], ms);
  arrived.push(call);
  gate.arrive(call);
  return call;
}

function arriveMany(count: number, on: FakeConnection, path: string): FakeArrival[] {
  return Array.from({ length: count }, (_, at) => arrive(on, `${path} ${at}`));
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await settled();
}

/** Lets calls begin in small groups, so that none has to wait. */
async function beginMany(count: number, on: FakeConnection, path: string): Promise<void> {
  for (let begun = 0; begun < count; begun += 20) {
    arriveMany(20, on, path);
    await turns(1);
  }
}

it('begins a call immediately while few calls arrive', () => {
  arriveMany(10, new FakeConnection(), 'acquire');
  expect(served).toHaveLength(10);
});

it('begins few of thousands of calls in one turn of the event loop, and all calls in the end', async () => {
  const connections = Array.from({ length: 10 }, () => new FakeConnection());
  for (const connection of connections) arriveMany(300, connection, 'acquire');
  expect(served.length).toBeLessThan(100);
  await turns(400);
  expect(served).toHaveLength(3000);
});

it('begins few calls in one turn of the event loop while calls that waited too long are refused', async () => {
  const quiet = new FakeConnection();
  for (let turn = 0; turn < 4; turn += 1) {
    arrive(quiet, 'acquire');
    await turns(1);
  }
  const hurried = new FakeConnection();
  const patient = new FakeConnection();
  for (let at = 0; at < 200; at += 1) arrive(hurried, 'acquire', { timeoutMs: 10 });
  arriveMany(800, patient, 'hold');
  await clock.advance(20);
  let most = 0;
  for (let turn = 0; turn < 1_000_000 && served.length < 800; turn += 1) {
    const before = served.length;
    await turns(1);
    most = Math.max(most, served.length - before);
  }
  expect(served.length).toBeGreaterThanOrEqual(800);
  const refused = arrived.filter((call) => call.status === status.RESOURCE_EXHAUSTED);
  expect(refused.length).toBeGreaterThan(100);
  expect(most).toBeLessThanOrEqual(32);
});

it('begins the call of another connection after a few turns, while hundreds of earlier calls wait', async () => {
  arriveMany(900, new FakeConnection(), 'acquire');
  arrive(new FakeConnection(), 'acquire of another');
  await turns(2);
  expect(served).toContain('acquire of another');
  expect(served.length).toBeLessThan(200);
});

it('begins releases before acquires, and neither stops the other', async () => {
  const connection = new FakeConnection();
  arriveMany(500, connection, 'acquire');
  arriveMany(500, connection, 'release');
  const before = served.length;
  await turns(10);
  const kinds = served.slice(before).map((name) => name.split(' ')[0]);
  const releases = kinds.filter((kind) => kind === 'release').length;
  expect(releases).toBeGreaterThan(kinds.length / 2);
  expect(releases).toBeLessThan(kinds.length);
});

it('does not read a connection with hundreds of waiting calls, until half of them have begun', async () => {
  const busy = new FakeConnection();
  const quiet = new FakeConnection();
  arriveMany(600, busy, 'acquire');
  arrive(quiet, 'acquire');
  expect([busy.reads, quiet.reads]).toEqual([false, true]);
  await turns(600);
  expect(busy.reads).toBe(true);
});

it('does not begin a call that was reset while it waited', async () => {
  const waiting = arriveMany(100, new FakeConnection(), 'acquire').slice(50);
  for (const call of waiting) call.end();
  await turns(100);
  expect(served).toHaveLength(50);
});

it('answers OVERLOADED to the call after a thousand unanswered unary calls, until an answer was sent', async () => {
  const connection = new FakeConnection();
  await beginMany(MAX_UNARY_CALLS, connection, 'acquire');
  const refused = arrive(connection, 'read');
  expect(refused.isClosed).toBe(false);
  await turns(2);
  expect([refused.status, refused.reason]).toEqual([status.RESOURCE_EXHAUSTED, 'OVERLOADED']);
  expect(arrive(connection, 'release').status).toBeUndefined();
  expect(arrive(connection, 'hold').status).toBeUndefined();
  expect(arrive(new FakeConnection(), 'acquire').status).toBeUndefined();
  await turns(2);
  arrived[0]!.end();
  const later = arrive(connection, 'acquire later');
  await turns(2);
  expect(later.status).toBeUndefined();
  expect(served).toContain('acquire later');
});

it('bounds the unanswered releases of one connection too, with a much higher bound', async () => {
  const connection = new FakeConnection();
  await beginMany(MAX_URGENT_CALLS, connection, 'release');
  const refused = arrive(connection, 'release');
  await turns(2);
  expect(refused.status).toBe(status.RESOURCE_EXHAUSTED);
  expect(refused.message).toContain(`${MAX_URGENT_CALLS} unanswered renewals and releases`);
});

it('answers OVERLOADED to calls that have waited for half a second, and never to a release', async () => {
  const connection = new FakeConnection();
  const acquires = arriveMany(200, connection, 'acquire');
  const releases = arriveMany(200, connection, 'release');
  clock.pass(501);
  await turns(100);
  expect(acquires.filter((call) => call.status === status.RESOURCE_EXHAUSTED).length).toBeGreaterThan(150);
  expect(releases.filter((call) => call.status !== undefined)).toEqual([]);
  expect(served.filter((name) => name.startsWith('release'))).toHaveLength(200);
});

it('answers OVERLOADED soon to calls that would wait too long, because each turn takes long', async () => {
  const connections = Array.from({ length: 10 }, () => new FakeConnection());
  for (const connection of connections) arriveMany(100, connection, 'acquire');
  for (let turn = 0; turn < 30; turn += 1) {
    clock.pass(20);
    await turns(1);
  }
  const before = clock.now();
  const late = connections.flatMap((connection) => arriveMany(200, connection, 'acquire late'));
  await turns(200);
  expect(late.filter((call) => call.reason === 'OVERLOADED').length).toBeGreaterThan(200);
  expect(clock.now()).toBe(before);
});

describe('a large call', () => {
  let proofs: { resolve: () => void; reject: (error: Error) => void }[];
  beforeEach(() => {
    proofs = [];
    gate = new CallGate({
      clock,
      prove: ({ authorization: [credential] }) => {
        if (credential === undefined) throw new HoldfastError('NO_CREDENTIAL', 'no credential');
        return new Promise<void>((resolve, reject) => proofs.push({ resolve, reject }));
      },
    });
  });

  it('begins after the proof of its caller', async () => {
    arrive(new FakeConnection(), 'put', { authorization: 'new' });
    await turns(2);
    expect(served).toEqual([]);
    proofs[0]!.resolve();
    await turns(2);
    expect(served).toEqual(['put']);
  });

  it('is answered right after its headers if its caller is refused', async () => {
    const without = arrive(new FakeConnection(), 'put');
    const refused = arrive(new FakeConnection(), 'put', { authorization: 'bad' });
    await turns(1);
    proofs[0]!.reject(new HoldfastError('BAD_CREDENTIAL', 'bad'));
    await turns(2);
    expect([without.reason, refused.reason]).toEqual(['NO_CREDENTIAL', 'BAD_CREDENTIAL']);
    expect(served).toEqual([]);
  });

  it('does not begin if its client resets it during the proof', async () => {
    arrive(new FakeConnection(), 'put', { authorization: 'new' }).end();
    proofs[0]!.resolve();
    await turns(2);
    expect(served).toEqual([]);
  });
});

describe('with a caller that is not proven', () => {
  let unproven: FakeConnection;
  beforeEach(() => {
    gate = new CallGate({
      clock,
      isProven: ({ authorization: [credential] }) => credential === 'Bearer good',
    });
    unproven = new FakeConnection();
  });

  it('begins its releases after the acquires of proven callers', async () => {
    arriveMany(100, unproven, 'release');
    const proven = new FakeConnection();
    const before = served.length;
    for (let at = 0; at < 50; at += 1) arrive(proven, 'acquire', { authorization: 'Bearer good' });
    await turns(4);
    expect(served.slice(before).filter((name) => name === 'acquire').length).toBeGreaterThan(
      (served.length - before) / 2,
    );
  });

  it('answers OVERLOADED to its releases that waited for half a second, and to no release of others', async () => {
    const flood = arriveMany(200, unproven, 'release');
    const release = arrive(new FakeConnection(), 'release of another', { authorization: 'Bearer good' });
    clock.pass(501);
    await turns(100);
    expect(flood.filter(({ reason }) => reason === 'OVERLOADED').length).toBeGreaterThan(150);
    expect(release.reason).toBeUndefined();
    expect(served).toContain('release of another');
  });

  it('begins a few health checks of each connection first', async () => {
    arriveMany(200, unproven, 'acquire');
    arriveMany(3, new FakeConnection(), 'check');
    await turns(2);
    expect(served.filter((name) => name.startsWith('check'))).toHaveLength(3);
  });

  it('gives a flood of health checks no priority', async () => {
    const flood = arriveMany(200, unproven, 'check');
    clock.pass(501);
    await turns(100);
    expect(flood.filter(({ reason }) => reason === 'OVERLOADED').length).toBeGreaterThan(100);
  });
});

describe('calls without a credential', () => {
  it('are refused above 40 unanswered calls of a connection, until one has ended', async () => {
    const connection = new FakeConnection();
    await beginMany(40, connection, 'check');
    const refused = arrive(connection, 'check');
    await turns(2);
    expect(refused.message).toContain('this connection has 40 unanswered calls without a credential');
    arrived[0]!.end();
    arrive(connection, 'check later');
    expect(served).toContain('check later');
  });

  it('are refused above 500 of an address, except the first two of each connection', async () => {
    for (let at = 0; at < 20; at += 1) await beginMany(25, new FakeConnection(), 'check');
    const another = new FakeConnection();
    const checks = arriveMany(3, another, 'check of another');
    const other = arriveMany(3, new FakeConnection('10.0.0.2'), 'check of another address');
    await turns(2);
    expect(checks.map(({ status }) => status)).toEqual([undefined, undefined, status.RESOURCE_EXHAUSTED]);
    expect(other.map(({ status }) => status)).toEqual([undefined, undefined, undefined]);
  });

  it('do not count against other calls of their connection', async () => {
    const connection = new FakeConnection();
    await beginMany(41, connection, 'check');
    arrive(connection, 'acquire');
    expect(served).toContain('acquire');
  });
});

describe('while many requests have not arrived', () => {
  let unfinishedCount = 0;
  beforeEach(() => {
    unfinishedCount = 256;
    gate = new CallGate({
      clock,
      isProven: ({ authorization: [credential] }) => credential === 'Bearer good',
      prove: () => {
        throw new HoldfastError('NO_CREDENTIAL', 'no credential');
      },
      unfinishedCount: () => unfinishedCount,
    });
  });

  it('a call of a caller that is not proven does not begin before its proof', async () => {
    const unproven = arrive(new FakeConnection(), 'acquire unproven');
    const check = arrive(new FakeConnection(), 'check');
    const proven = arrive(new FakeConnection(), 'acquire', { authorization: 'Bearer good' });
    await turns(2);
    expect([unproven, check, proven].map(({ reason }) => reason)).toEqual([
      'NO_CREDENTIAL',
      undefined,
      undefined,
    ]);
    expect(served).toEqual(['check', 'acquire']);
  });

  it('and later few have not, such a call begins at once', () => {
    unfinishedCount = 255;
    arrive(new FakeConnection(), 'acquire unproven');
    expect(served).toEqual(['acquire unproven']);
  });
});

describe('the answers to refused calls that a client does not take', () => {
  async function fullConnection(address?: string): Promise<FakeConnection> {
    const connection = new FakeConnection(address);
    await beginMany(40, connection, 'check');
    return connection;
  }

  /** The connection's client never takes an answer. */
  async function refuseMany(count: number, on: FakeConnection): Promise<FakeArrival[]> {
    const refused = arriveMany(count, on, 'check');
    for (const call of refused) call.takesAnswer = false;
    await turns(count / 8);
    return refused;
  }

  it('stop the reading of the connection', async () => {
    const connection = await fullConnection();
    const refused = await refuseMany(300, connection);
    expect([connection.reads, cut]).toEqual([false, []]);
    for (const call of refused) call.end();
    expect(connection.reads).toBe(true);
  });

  it('cut the connection above 512', async () => {
    const connection = await fullConnection();
    await refuseMany(512, connection);
    expect(cut).toEqual([]);
    await refuseMany(1, connection);
    expect(cut).toEqual([connection]);
  });

  it('cut the connection with the most of them above 2048 of all', async () => {
    const most = await fullConnection('10.0.0.1');
    await refuseMany(500, most);
    for (let at = 2; at < 6; at += 1) await refuseMany(387, await fullConnection(`10.0.0.${at}`));
    expect(cut).toEqual([]);
    await refuseMany(1, await fullConnection('10.0.0.9'));
    expect(cut).toEqual([most]);
  });
});

it('stops the reading of a full connection again after Node has begun to read', () => {
  const connection = new FakeConnection();
  arriveMany(600, connection, 'acquire');
  connection.reads = true;
  arrive(connection, 'acquire');
  expect(connection.reads).toBe(false);
});

it('answers OVERLOADED to a call that has waited past its own deadline', async () => {
  arriveMany(100, new FakeConnection(), 'acquire');
  const hurried = arrive(new FakeConnection(), 'acquire', { timeoutMs: 100 });
  clock.pass(101);
  await turns(10);
  expect(hurried.reason).toBe('OVERLOADED');
});

test.each([
  ['10S', 10_000],
  ['1H', 3_600_000],
  ['5M', 300_000],
  ['250m', 250],
  ['1500u', 1.5],
  ['2000000n', 2],
  ['S', undefined],
  ['5x', undefined],
])('the timeout %s is %p ms', (timeout, ms) => {
  expect(timeoutMs({ 'grpc-timeout': timeout })).toBe(ms);
});

it('leaves a timeout of more than a day as it is, because the header has at most eight digits', () => {
  const headers = { 'grpc-timeout': '500H' };
  shortenTimeout(headers, 100);
  expect(headers).toEqual({ 'grpc-timeout': '500H' });
});

it('knows which calls are urgent', () => {
  const services = [lockService(fakePermits().engine, defaultLimits), new Health([]).service];
  const calls = offeredCalls(
    services,
    describedFiles(readFileSync(join(ROOT, 'generated/descriptor.binpb'))),
  );
  const offered = (path: string) => calls.get(path) ?? UNKNOWN_CALL;
  const priorities = ['RenewLock', 'ReleaseLock', 'AcquireLock', 'HoldLock', 'GetLock'].map(
    (name) => offered(`/holdfast.v1.LockService/${name}`).priority,
  );
  expect(priorities).toEqual(['high', 'high', 'normal', 'normal', 'low']);
  expect(offered('/grpc.health.v1.Health/Check')).toMatchObject({
    priority: 'high',
    unary: true,
    isProbe: true,
    isOpen: true,
    bytes: undefined,
  });
  expect(offered('/holdfast.v1.LockService/HoldLock').unary).toBe(false);
  expect(offered('/another.Service/Call')).toEqual({ priority: 'low', unary: true });
});

describe('a call of HTTP/2', () => {
  class FakeStream extends EventEmitter {
    closed = false;
    destroyed = false;
    readableEnded = false;
    readonly state = { remoteClose: 1 };
    readonly respond = jest.fn();
    readonly resume = jest.fn();
  }

  /** A call that waits at the gate, behind others. */
  function waiting(headers: IncomingHttpHeaders = {}) {
    arriveMany(100, new FakeConnection(), 'acquire');
    const stream = new FakeStream();
    const seen: IncomingHttpHeaders[] = [];
    const session = Object.assign(new EventEmitter(), { destroyed: false }) as unknown as ServerHttp2Session;
    const source = new Http2Source(session, () => undefined);
    gate.connected(source);
    const given = { ...headers, ':path': 'acquire' };
    const serve = (_: unknown, served: IncomingHttpHeaders): void => void seen.push(served);
    const { acquire } = KINDS;
    gate.arrive(new Http2Arrival(stream as unknown as ServerHttp2Stream, given, serve, acquire!, source));
    return { stream, seen };
  }

  it('tells the server of the end of a request that ended while it waited', async () => {
    const { stream } = waiting();
    stream.readableEnded = true;
    const ended = jest.fn();
    stream.on('end', ended);
    await turns(100);
    expect(ended).toHaveBeenCalledTimes(1);
  });

  it('survives the error of its stream while it waits', async () => {
    const { stream } = waiting();
    expect(stream.emit('error', new Error('reset'))).toBe(true);
    await turns(100);
  });

  it('survives the error of its stream when it is refused', async () => {
    const { stream } = waiting({ 'grpc-timeout': '100m' });
    clock.pass(101);
    await turns(10);
    expect(stream.respond).toHaveBeenCalledTimes(1);
    expect(stream.emit('error', new Error('reset'))).toBe(true);
  });

  it('gets a deadline from which the wait is subtracted', async () => {
    const { seen } = waiting({ 'grpc-timeout': '2S' });
    clock.pass(300);
    await turns(100);
    expect(seen).toEqual([{ 'grpc-timeout': '1700m', ':path': 'acquire' }]);
  });
});
