import { EventEmitter } from 'node:events';
import { readFileSync } from 'node:fs';
import type { Http2Session, IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import {
  CallGate,
  type CallKind,
  MAX_UNARY_CALLS,
  MAX_URGENT_CALLS,
  shortenTimeout,
  timeoutMs,
  UNKNOWN_CALL,
} from '../../src/rpc/entry/gate';
import { HoldfastError } from '../../src/base/errors';
import { defaultLimits } from '../../src/leases/lease';
import { lockService } from '../../src/leases/service/lease-services';
import { offeredCalls } from '../../src/rpc/service';
import { Health } from '../../src/server/health';
import { ManualClock, settled } from '../support/manual-clock';
import { ROOT } from '../support/root';
import { fakePermits } from './fake-engines';

const KINDS: Readonly<Record<string, CallKind>> = {
  check: { priority: 'high', unary: true, isProbe: true, isOpen: true },
  acquire: { priority: 'normal', unary: true },
  release: { priority: 'high', unary: true },
  read: { priority: 'low', unary: true },
  hold: { priority: 'normal', unary: false },
};

/** A connection as the gate sees it. */
class FakeConnection {
  isRead = true;
  readonly session: Http2Session;

  constructor(remoteAddress = '10.0.0.1') {
    const handle = { readStart: () => (this.isRead = true), readStop: () => (this.isRead = false) };
    const socket = { _handle: handle };
    this.session = Object.assign(new EventEmitter(), { destroyed: false, socket }) as unknown as Http2Session;
    gate.connected(this.session, remoteAddress);
  }
}

class FakeStream extends EventEmitter {
  closed = false;
  destroyed = false;
  readableEnded = false;
  readonly state = { remoteClose: 1 };
  status: number | undefined;
  reason: unknown;
  message = '';

  constructor(readonly session: Http2Session) {
    super();
  }

  respond(headers: Record<string, unknown>): void {
    this.status = Number(headers['grpc-status']);
    this.reason = headers['holdfast-reason'];
    this.message = decodeURI(String(headers['grpc-message']));
  }

  resume(): void {
    this.end();
  }

  close(): void {
    this.end();
  }

  end(): void {
    this.closed = true;
    this.emit('close');
  }
}

const clock = new ManualClock();
let gate: CallGate;
let served: string[];
let streams: FakeStream[];
beforeEach(() => {
  gate = new CallGate({ clock, kindOf: (path) => KINDS[path.split(' ')[0]!]! });
  served = [];
  streams = [];
});

function arrive(on: FakeConnection, path: string, headers: IncomingHttpHeaders = {}): FakeStream {
  const stream = new FakeStream(on.session);
  const servedByThisGate = served;
  streams.push(stream);
  gate.arrive(
    stream as unknown as ServerHttp2Stream,
    { ...headers, ':path': path },
    (_, { ':path': name }) => {
      servedByThisGate.push(name!);
    },
  );
  return stream;
}

function arriveMany(count: number, on: FakeConnection, path: string): FakeStream[] {
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
  for (let at = 0; at < 200; at += 1) arrive(hurried, 'acquire', { 'grpc-timeout': '10m' });
  arriveMany(800, patient, 'hold');
  await clock.advance(20);
  let most = 0;
  for (let turn = 0; turn < 1_000_000 && served.length < 800; turn += 1) {
    const before = served.length;
    await turns(1);
    most = Math.max(most, served.length - before);
  }
  expect(served.length).toBeGreaterThanOrEqual(800);
  const refused = streams.filter((stream) => stream.status === status.RESOURCE_EXHAUSTED);
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
  expect([busy.isRead, quiet.isRead]).toEqual([false, true]);
  await turns(600);
  expect(busy.isRead).toBe(true);
});

it('does not begin a call that was reset while it waited', async () => {
  const waiting = arriveMany(100, new FakeConnection(), 'acquire').slice(50);
  for (const stream of waiting) stream.end();
  await turns(100);
  expect(served).toHaveLength(50);
});

it('tells the server of the end of a request that ended while it waited', async () => {
  const [last] = arriveMany(100, new FakeConnection(), 'acquire').slice(-1);
  last!.readableEnded = true;
  const ended = jest.fn();
  last!.on('end', ended);
  await turns(100);
  expect(ended).toHaveBeenCalledTimes(1);
});

it('answers OVERLOADED to the call after a thousand unanswered unary calls, until an answer was sent', async () => {
  const connection = new FakeConnection();
  await beginMany(MAX_UNARY_CALLS, connection, 'acquire');
  const refused = arrive(connection, 'read');
  expect(refused.closed).toBe(false);
  await turns(2);
  expect([refused.status, refused.reason]).toEqual([status.RESOURCE_EXHAUSTED, 'OVERLOADED']);
  expect(arrive(connection, 'release').status).toBeUndefined();
  expect(arrive(connection, 'hold').status).toBeUndefined();
  expect(arrive(new FakeConnection(), 'acquire').status).toBeUndefined();
  await turns(2);
  streams[0]!.end();
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
  expect(acquires.filter((stream) => stream.status === status.RESOURCE_EXHAUSTED).length).toBeGreaterThan(
    150,
  );
  expect(releases.filter((stream) => stream.status !== undefined)).toEqual([]);
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
  expect(late.filter((stream) => stream.reason === 'OVERLOADED').length).toBeGreaterThan(200);
  expect(clock.now()).toBe(before);
});

describe('a large call', () => {
  let proofs: { resolve: () => void; reject: (error: Error) => void }[];
  beforeEach(() => {
    proofs = [];
    gate = new CallGate({
      clock,
      kindOf: () => ({ priority: 'low', unary: true, isLarge: true }),
      prove: ({ authorization }) => {
        if (authorization === undefined) throw new HoldfastError('NO_CREDENTIAL', 'no credential');
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
      kindOf: (path) => KINDS[path.split(' ')[0]!]!,
      isProven: ({ authorization }) => authorization === 'Bearer good',
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
    streams[0]!.end();
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
      kindOf: (path) => KINDS[path.split(' ')[0]!]!,
      isProven: ({ authorization }) => authorization === 'Bearer good',
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
  let cut: Http2Session[];
  beforeEach(() => {
    cut = [];
    gate = new CallGate({
      clock,
      kindOf: (path) => KINDS[path.split(' ')[0]!]!,
      onUntaken: (session) => cut.push(session),
    });
  });

  async function fullConnection(address?: string): Promise<FakeConnection> {
    const connection = new FakeConnection(address);
    await beginMany(40, connection, 'check');
    return connection;
  }

  /** The connection's client never takes an answer. */
  async function refuseMany(count: number, on: FakeConnection): Promise<FakeStream[]> {
    const refused = arriveMany(count, on, 'check');
    for (const stream of refused) stream.resume = () => undefined;
    await turns(count / 8);
    return refused;
  }

  it('stop the reading of the connection', async () => {
    const connection = await fullConnection();
    const refused = await refuseMany(300, connection);
    expect([connection.isRead, cut]).toEqual([false, []]);
    for (const stream of refused) stream.end();
    expect(connection.isRead).toBe(true);
  });

  it('cut the connection above 512', async () => {
    const connection = await fullConnection();
    await refuseMany(512, connection);
    expect(cut).toEqual([]);
    await refuseMany(1, connection);
    expect(cut).toEqual([connection.session]);
  });

  it('cut the connection with the most of them above 2048 of all', async () => {
    const most = await fullConnection('10.0.0.1');
    await refuseMany(500, most);
    for (let at = 2; at < 6; at += 1) await refuseMany(387, await fullConnection(`10.0.0.${at}`));
    expect(cut).toEqual([]);
    await refuseMany(1, await fullConnection('10.0.0.9'));
    expect(cut).toEqual([most.session]);
  });
});

it('stops the reading of a full connection again after Node has begun to read', () => {
  const connection = new FakeConnection();
  arriveMany(600, connection, 'acquire');
  connection.isRead = true;
  arrive(connection, 'acquire');
  expect(connection.isRead).toBe(false);
});

it('survives the error of a stream that waits or is refused', async () => {
  const connection = new FakeConnection();
  await beginMany(MAX_UNARY_CALLS, connection, 'acquire');
  const refused = arrive(connection, 'read');
  const [waiting] = arriveMany(100, new FakeConnection(), 'acquire').slice(-1);
  for (const stream of [refused, waiting!]) expect(stream.emit('error', new Error('reset'))).toBe(true);
  await turns(100);
});

it('subtracts the wait from the deadline of the call', async () => {
  arriveMany(100, new FakeConnection(), 'acquire');
  const headers = { 'grpc-timeout': '2S', ':path': 'acquire' };
  const seen: IncomingHttpHeaders[] = [];
  const stream = new FakeStream(new FakeConnection().session);
  gate.arrive(stream as unknown as ServerHttp2Stream, headers, (_, given) => seen.push(given));
  clock.pass(300);
  await turns(100);
  expect(seen).toEqual([{ 'grpc-timeout': '1700m', ':path': 'acquire' }]);
});

it('answers OVERLOADED to a call that has waited past its own deadline', async () => {
  arriveMany(100, new FakeConnection(), 'acquire');
  const hurried = arrive(new FakeConnection(), 'acquire', { 'grpc-timeout': '100m' });
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
  const calls = offeredCalls(services, readFileSync(join(ROOT, 'generated/descriptor.binpb')));
  const kindOf = (path: string) => calls.get(path) ?? UNKNOWN_CALL;
  const priorities = ['RenewLock', 'ReleaseLock', 'AcquireLock', 'HoldLock', 'GetLock'].map(
    (name) => kindOf(`/holdfast.v1.LockService/${name}`).priority,
  );
  expect(priorities).toEqual(['high', 'high', 'normal', 'normal', 'low']);
  expect(kindOf('/grpc.health.v1.Health/Check')).toMatchObject({
    priority: 'high',
    unary: true,
    isProbe: true,
    isOpen: true,
    isLarge: false,
  });
  expect(kindOf('/holdfast.v1.LockService/HoldLock').unary).toBe(false);
  expect(kindOf('/another.Service/Call')).toEqual({ priority: 'low', unary: true });
});
