import { once } from 'node:events';
import { connect as connectHttp2, type ClientHttp2Session, type IncomingHttpHeaders } from 'node:http2';
import { connect as connectTcp } from 'node:net';
import type { Metadata } from '@grpc/grpc-js';
import {
  CallerOrder,
  ListCallersRequest,
  type ServerServiceClient,
  type Caller,
  type ListCallersResponse,
} from '../../generated/typescript/holdfast/v1/server_service';
import { GetLockRequest, LockServiceService } from '../../generated/typescript/holdfast/v1/lock_service';
import { ErrorReason } from '../../generated/typescript/holdfast/v1/error_reason';
import { HoldfastError } from '../../src/base/errors';
import { defaultIntakeLimits } from '../../src/rpc/entry/unfinished';
import { SERVICES, VERBS } from '../../src/access/policy';
import { lock, SessionStream } from '../support/clients/session-stream';
import { eventually, eventuallyPasses } from '../support/eventually';
import { suggestRequest } from './autocomplete-calls';
import { acquireRequest, call, failureOf, Harness } from './harness';
import { metadataOf, startWithPolicy } from './policy-harness';
import { frame } from './raw-call';

/** The list of callers, over real gRPC. */

const EVERYTHING = { identities: ['token:*'], services: [...SERVICES], names: [''], allow: [...VERBS] };

let harness: Harness;
let open: Harness;
let operator: ServerServiceClient;
beforeAll(async () => {
  const rule = EVERYTHING;
  ({ harness } = await startWithPolicy(
    ['ops', 'worker', 'guest', 'holder', 'reader'],
    [
      { ...rule, identities: ['token:ops', 'token:worker', 'token:holder'] },
      { ...rule, identities: ['token:guest'], names: ['guest/'] },
      { ...rule, identities: ['token:reader'], allow: ['read'] },
    ],
  ));
  open = await Harness.start();
  operator = harness.info();
});
beforeEach(() => {
  harness.permits.reset();
  harness.audited.splice(0);
});
afterAll(async () => {
  await harness.close();
  await open.close();
});

const ops = { metadata: metadataOf('ops') };
const list = (fields: Partial<ListCallersRequest> = {}): Promise<ListCallersResponse> =>
  call(operator, operator.listCallers, { ...ListCallersRequest.create(), ...fields }, ops);

async function only(fields: Partial<ListCallersRequest>): Promise<Caller> {
  const { callers } = await list(fields);
  expect(callers).toHaveLength(1);
  return callers[0]!;
}

const of = (name: string): Promise<Caller> => only({ identity: `token:${name}` });

/** A connection from an address of this machine. */
async function connectFrom(localAddress: string, target = harness.target): Promise<ClientHttp2Session> {
  const [host, port] = target.split(':') as [string, string];
  const socket = connectTcp({ host, port: Number(port), localAddress });
  await once(socket, 'connect');
  const session = connectHttp2(`http://${target}`, { createConnection: () => socket });
  session.on('error', () => undefined);
  return session;
}

const GET_LOCK = frame(GetLockRequest.encode({ name: 'hello' }).finish());

/** Sends one GetLock. Resolves to its reason, or '' for an answer without one. */
function getLock(session: ClientHttp2Session, metadata?: Metadata): Promise<string> {
  const stream = session.request({
    ':method': 'POST',
    ':path': LockServiceService.getLock.path,
    'content-type': 'application/grpc',
    te: 'trailers',
    ...(metadata?.getMap() as Record<string, string>),
  });
  stream.end(GET_LOCK);
  return new Promise((resolve) => {
    let reason = '';
    const look = ({ 'holdfast-reason': seen }: IncomingHttpHeaders): void => {
      if (typeof seen === 'string') reason = seen;
    };
    stream
      .on('response', look)
      .on('trailers', look)
      .on('error', () => undefined);
    stream.on('close', () => resolve(reason)).resume();
  });
}

test('a caller is listed with its identity, its address, its calls, refusals, connections and last reason', async () => {
  const client = harness.locks();
  const worker = { metadata: metadataOf('worker') };
  for (let count = 0; count < 3; count += 1) await call(client, client.getLock, { name: 'x' }, worker);
  harness.permits.failWith(new HoldfastError('QUEUE_FULL', 'full'));
  await failureOf(call(client, client.acquireLock, acquireRequest(), worker));
  expect(await of('worker')).toMatchObject({
    identity: 'token:worker',
    address: '127.0.0.1',
    callCount: 4n,
    refusalCount: 1n,
    recentCallCount: 4n,
    recentRefusalCount: 1n,
    streamCount: 0,
    connectionCount: 1,
    lastRefusalReason: ErrorReason.ERROR_REASON_QUEUE_FULL,
  });
  client.close();
  await eventuallyPasses('no connection', async () => expect((await of('worker')).connectionCount).toBe(0));
});

test('an error that is no refusal counts as a call only', async () => {
  const client = harness.locks();
  const holder = { metadata: metadataOf('holder') };
  harness.permits.failWith(new HoldfastError('CONTENDED', 'held'));
  await failureOf(call(client, client.acquireLock, acquireRequest(), holder));
  expect(await of('holder')).toMatchObject({
    callCount: 1n,
    refusalCount: 0n,
    lastRefusalReason: ErrorReason.ERROR_REASON_UNSPECIFIED,
  });
});

test('a missing permission counts for its caller, and a bad token counts for its address alone', async () => {
  const client = harness.locks();
  await failureOf(call(client, client.getLock, { name: 'x' }, { metadata: metadataOf('guest') }));
  expect(await of('guest')).toMatchObject({
    refusalCount: 1n,
    lastRefusalReason: ErrorReason.ERROR_REASON_NOT_ALLOWED,
  });
  const session = await connectFrom('127.0.0.6');
  const bad = metadataOf('nobody');
  expect(await getLock(session, bad)).toBe('BAD_CREDENTIAL');
  expect(await getLock(session)).toBe('NO_CREDENTIAL');
  expect(await only({ address: '127.0.0.6' })).toMatchObject({
    identity: '',
    callCount: 2n,
    refusalCount: 2n,
    lastRefusalReason: ErrorReason.ERROR_REASON_NO_CREDENTIAL,
  });
  session.destroy();
});

const overloads = () =>
  harness.audited.map(({ fields }) => fields).filter(({ outcome }) => outcome === 'OVERLOADED');

test('calls that the gate refuses count for their identity, and one audit line names caller and number', async () => {
  let begun = 0;
  harness.permits.answers.inspect = () => {
    begun += 1;
    return new Promise(() => undefined);
  };
  const session = await connectFrom('127.0.0.3');
  const sent = 1010;
  const ended: string[] = [];
  const send = (): void => void getLock(session, metadataOf('worker')).then((reason) => ended.push(reason));
  // Few calls at a time, because a busy machine refuses calls that wait for long.
  for (let count = 1; count <= 1000; count += 1) {
    send();
    if (count % 25 === 0) await eventually('the calls have begun', () => begun === count);
  }
  for (let count = 1000; count < sent; count += 1) send();
  await eventually('the refusals', () => ended.length === sent - 1000);
  expect(new Set(ended)).toEqual(new Set(['OVERLOADED']));
  const caller = { identity: 'token:worker', address: '127.0.0.3' };
  expect(await only(caller)).toMatchObject({
    ...caller,
    callCount: BigInt(sent),
    refusalCount: 10n,
    lastRefusalReason: ErrorReason.ERROR_REASON_OVERLOADED,
  });
  expect(overloads()).toEqual([
    {
      identity: 'token:worker',
      peer: expect.stringMatching(/^127\.0\.0\.3:\d+$/) as string,
      method: LockServiceService.getLock.path,
      action: 'refused',
      outcome: 'OVERLOADED',
    },
  ]);
  session.destroy();
});

test('calls whose requests do not arrive count for their identity', async () => {
  const limits = { ...defaultIntakeLimits, smallTimeoutMs: 50 };
  const slow = await startWithPolicy(['ops', 'worker'], [EVERYTHING], { intakeLimits: limits });
  try {
    const session = await connectFrom('127.0.0.4', slow.harness.target);
    const stream = session.request({
      ':method': 'POST',
      ':path': LockServiceService.getLock.path,
      'content-type': 'application/grpc',
      ...(metadataOf('worker').getMap() as Record<string, string>),
    });
    stream.on('error', () => undefined).write(GET_LOCK.subarray(0, 3));
    await once(stream.resume(), 'close');
    const client = slow.harness.info();
    const { callers } = await call(client, client.listCallers, ListCallersRequest.create(), ops);
    expect(callers).toContainEqual(
      expect.objectContaining({
        identity: 'token:worker',
        address: '127.0.0.4',
        callCount: 1n,
        refusalCount: 1n,
        lastRefusalReason: ErrorReason.ERROR_REASON_QUOTA_EXCEEDED,
      }),
    );
    session.destroy();
  } finally {
    await slow.harness.close();
  }
});

test('an open stream counts until its end, and its commands count as calls, each refused one as a refusal', async () => {
  const session = new SessionStream(harness.target, { metadata: metadataOf('holder') });
  const before = await eventually('the stream', async () => {
    const now = await of('holder');
    return now.streamCount === 1 && now;
  });
  harness.permits.failWith(new HoldfastError('OVERLOADED', 'busy'));
  session.run(lock('x'), lock('y'));
  const after = await eventually('both commands', async () => {
    const now = await of('holder');
    return now.refusalCount - before.refusalCount === 2n && now;
  });
  expect(after.callCount - before.callCount).toBe(2n);
  session.close();
  await eventuallyPasses('the end', async () => expect((await of('holder')).streamCount).toBe(0));
});

test('each query of SuggestStream counts as a call', async () => {
  const stream = harness.completions().suggestStream(metadataOf('reader'));
  stream.on('data', () => undefined).on('error', () => undefined);
  for (let id = 1n; id <= 3n; id += 1n) {
    stream.write({ queryId: id, suggest: suggestRequest() });
    await once(stream, 'data');
  }
  expect(await of('reader')).toMatchObject({ callCount: 4n, streamCount: 1 });
  stream.end();
});

test('health and unknown calls count for their address, without an identity', async () => {
  const session = await connectFrom('127.0.0.7');
  for (const path of ['/grpc.health.v1.Health/Check', '/holdfast.v1.LockService/NoSuchCall']) {
    const stream = session.request({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc' });
    stream.end(frame(Buffer.alloc(0)));
    await once(stream.resume(), 'close');
  }
  expect(await only({ address: '127.0.0.7' })).toMatchObject({ identity: '', callCount: 2n });
  session.destroy();
});

test('the order, the size of the page and the number of all are those of the request', async () => {
  const { callers, callerCount } = await list({
    orderBy: CallerOrder.CALLER_ORDER_REFUSAL_COUNT,
    pageSize: 2,
  });
  expect(callers).toHaveLength(2);
  expect(callerCount).toBeGreaterThan(2);
  const [first, second] = callers as [Caller, Caller];
  expect(first.recentRefusalCount).toBeGreaterThanOrEqual(second.recentRefusalCount);
  expect((await list({ pageSize: 100_000 })).callers).toHaveLength(callerCount);
});

test.each<[string, Partial<ListCallersRequest>, string]>([
  ['a negative page_size', { pageSize: -1 }, 'page_size'],
  ['an unknown order', { orderBy: 99 as CallerOrder }, 'order_by 99 is not a CallerOrder'],
  ['an identity with a control character', { identity: 'a\n' }, 'identity'],
  ['an address of 257 bytes', { address: 'x'.repeat(257) }, 'address'],
])('%s is INVALID_FIELD', async (_title, fields, text) => {
  const error = await failureOf(list(fields));
  expect(error.details).toContain('[INVALID_FIELD]');
  expect(error.details).toContain(text);
});

test('without authentication, callers are listed by their addresses', async () => {
  const session = await connectFrom('127.0.0.8', open.target);
  await getLock(session);
  const client = open.info();
  const { callers } = await call(client, client.listCallers, ListCallersRequest.create());
  expect(callers.map(({ identity, address }) => [identity, address])).toContainEqual(['', '127.0.0.8']);
  session.destroy();
});
