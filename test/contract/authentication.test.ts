import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:http2';
import { join } from 'node:path';
import { Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { AcquireLockRequest } from '../../generated/typescript/holdfast/v1/lock_service';
import type { Call } from '../../src/base/call';
import { tokenDigest } from '../../src/access/credentials';
import { AUDIENCE, ISSUER, keySetText, sign, signingKey, type SigningKey } from '../access/issuer';
import { FrameConnection } from '../support/attacks/frame-connection';
import { eventually } from '../support/eventually';
import { LeapingClock } from '../support/manual-clock';
import { scratchFolder } from '../support/scratch-folder';
import { contractCalls } from './contract-calls';
import { openEveryStream } from './every-stream';
import { acquireRequest, call, failureOf, Harness, RELOAD_MS, TRACEPARENT } from './harness';
import { frame, RawConnection, type RawOutcome } from './raw-call';

/** Bearer tokens, in front of fake engines. No call of an engine: no command to Redis. */

const ACQUIRE = '/holdfast.v1.LockService/AcquireLock';
const acquireBody = frame(AcquireLockRequest.encode(acquireRequest()).finish());

let folder: string;
let tokens: string;
let key: SigningKey;
let harness: Harness;
const clock = new LeapingClock();
let connection: RawConnection;

const tokenLine = (identity: string, token: string, endsInMs?: number) =>
  `${identity} sha256:${tokenDigest(token)}${
    endsInMs === undefined ? '' : ` ${new Date(Date.now() + endsInMs).toISOString()}`
  }\n`;

const TOKENS = tokenLine('alice', 'good-token') + tokenLine('old', 'old-token', -1000);

beforeAll(async () => {
  folder = scratchFolder();
  tokens = join(folder, 'tokens');
  writeFileSync(tokens, TOKENS);
  key = await signingKey('k');
  writeFileSync(join(folder, 'keys'), await keySetText([key]));
  const keys = { setting: 'HOLDFAST_AUTH_JWT_JWKS', path: join(folder, 'keys') };
  harness = await Harness.start({
    // The sessions of these tests send one heartbeat.
    sessionLimits: { heartbeatTimeoutMs: 600_000 },
    accessClock: clock,
    access: {
      intervalMs: RELOAD_MS,
      tokens: { setting: 'HOLDFAST_AUTH_TOKENS', path: tokens },
      jwt: { issuer: ISSUER, audience: AUDIENCE, keys, claim: 'sub' },
    },
  });
  connection = new RawConnection(harness.target);
});
beforeEach(() => {
  harness.permits.reset();
  harness.autocomplete.reset();
  harness.logged.splice(0);
});
afterAll(async () => {
  connection.close();
  await harness.close();
});

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

function acquire(headers: Record<string, string | string[]> = {}): Promise<RawOutcome> {
  return connection.call({ path: ACQUIRE, body: acquireBody, headers });
}

function engineCalls(): unknown[] {
  return [...harness.permits.calls, ...harness.autocomplete.calls];
}

test('every call of the contract without a credential ends with NO_CREDENTIAL, before any engine is called', async () => {
  const calls = contractCalls([]);
  expect(calls.length).toBeGreaterThan(20);
  for (const one of calls) {
    const error = await one.failure(harness);
    expect([one.path, error.code, error.details]).toEqual([
      one.path,
      status.UNAUTHENTICATED,
      expect.stringContaining('[NO_CREDENTIAL]'),
    ]);
  }
  expect(engineCalls()).toEqual([]);
});

test('health and reflection answer without a credential', async () => {
  const health = harness.health();
  expect(await call(health, health.check, { service: '' })).toEqual({ status: 1 });
  const outcome = await connection.call({
    path: '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
  });
  expect(outcome.code).toBe(status.OK);
});

test('a server can run without reflection', async () => {
  const silent = await Harness.start({ reflection: false });
  const raw = new RawConnection(silent.target);
  const outcome = await raw.call({ path: '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo' });
  expect(outcome.code).toBe(status.UNIMPLEMENTED);
  raw.close();
  await silent.close();
});

/** The identity that the engine gets. */
async function identityOf(headers: Record<string, string>): Promise<string | undefined> {
  let identity: string | undefined;
  const { acquire: normal } = harness.permits.engine;
  harness.permits.answers.acquire = async (engineCall: Call) => {
    identity = engineCall.identity;
    harness.permits.answers = {};
    return normal(engineCall, 'lock', undefined as never);
  };
  await acquire(headers);
  return identity;
}

test('the engine gets the identity of a token, and of a JSON web token', async () => {
  expect(await identityOf(bearer('good-token'))).toBe('token:alice');
  expect(await identityOf({ authorization: 'bearer good-token' })).toBe('token:alice');
  const jwt = await sign(key);
  expect(await identityOf(bearer(jwt))).toBe('jwt:https://login.example#alice');
  expect(await identityOf(bearer(jwt))).toBe('jwt:https://login.example#alice');
});

test.each<[string, Record<string, string | string[]>, string]>([
  ['an unknown token', bearer('another'), 'is not accepted'],
  ['an expired token', bearer('old-token'), 'has expired'],
  ['a token in another scheme', { authorization: 'Basic Z29vZC10b2tlbg==' }, 'malformed'],
  ['a token without a scheme', { authorization: 'good-token' }, 'malformed'],
  ['an empty token', { authorization: 'Bearer' }, 'malformed'],
  ['a token with a space', { authorization: 'Bearer good token' }, 'malformed'],
  ['a token of 9 KiB', bearer('x'.repeat(9000)), 'malformed'],
  ['the digest of a token', bearer(tokenDigest('good-token')), 'is not accepted'],
  ['an unsigned JSON web token', bearer('eyJhbGciOiJub25lIn0.e30.AAAA'), 'not accepted'],
])('a call with %s is BAD_CREDENTIAL', async (_title, headers, message) => {
  const outcome = await acquire(headers);
  expect(outcome).toMatchObject({ code: status.UNAUTHENTICATED, reason: 'BAD_CREDENTIAL' });
  expect(outcome.message).toContain(message);
  expect(engineCalls()).toEqual([]);
});

test.each([
  ['a good and a bad value', ['good-token', 'bad-token'], 'BAD_CREDENTIAL'],
  ['a bad and a good value', ['bad-token', 'good-token'], 'BAD_CREDENTIAL'],
  ['the same good value twice', ['good-token', 'good-token'], 'BAD_CREDENTIAL'],
  ['one good value', ['good-token'], 'OK'],
])('a call with %s in the headers authorization ends with its outcome', async (_title, values, outcome) => {
  const outcomes: string[] = [];
  const raw = new FrameConnection(harness.target, { onOutcome: (one) => outcomes.push(one) });
  const headers = values.map((value) => ['authorization', `Bearer ${value}`] as const);
  raw.call({ path: ACQUIRE, body: acquireBody, headers });
  await eventually('the outcome', () => outcomes.length === 1);
  raw.close();
  expect(outcomes).toEqual([outcome]);
});

test('headers with a forwarded certificate or identity are no credential', async () => {
  const outcome = await acquire({
    'x-forwarded-client-cert': 'By=spiffe://a;Hash=00;URI=spiffe://example.org/admin',
    'x-client-cert': 'MIIB',
    'x-ssl-client-verify': 'SUCCESS',
    'ssl-client-subject-dn': 'CN=admin',
    'x-forwarded-user': 'admin',
    'x-amzn-mtls-clientcert': 'MIIB',
  });
  expect(outcome).toMatchObject({ code: status.UNAUTHENTICATED, reason: 'NO_CREDENTIAL' });
});

test('the log has the precise cause, and never the token', async () => {
  // The lines of the second before may be the last ones of this address.
  const line = await eventually('a line of the log', async () => {
    await acquire({ ...bearer('secret-token'), traceparent: TRACEPARENT, 'x-request-id': 'job-7' });
    return harness.logged.find(({ message }) => message === 'refused a credential');
  });
  expect(line).toMatchObject({
    level: 'warn',
    message: 'refused a credential',
    fields: {
      reason: 'BAD_CREDENTIAL',
      detail: 'the token is in no token file, and is no JSON web token',
      method: ACQUIRE,
      traceparent: TRACEPARENT,
      callId: 'job-7',
      peer: expect.stringMatching(/^127\.0\.0\.1:\d+$/) as string,
    },
  });
  expect(JSON.stringify(harness.logged)).not.toContain('secret-token');
});

test.each([ACQUIRE, '/holdfast.v1.AutocompleteService/PutEntries'])(
  'a caller of %s that disconnects before its token is checked is in the log with its address',
  async (path) => {
    const forger = await signingKey('k');
    const forged = await Promise.all(
      [...Array(40).keys()].map((count) => sign(forger, { sub: `bob-${count}` })),
    );
    const peers = () =>
      harness.logged.flatMap(({ message, fields: { method, peer } }) =>
        message === 'refused a credential' && method === path ? [peer] : [],
      );
    // Each token is checked for the first time, and the checks take turns.
    const leave = async (token: string): Promise<void> => {
      const session = connect(`http://${harness.target}`);
      const headers = { ':method': 'POST', ':path': path, 'content-type': 'application/grpc' };
      const stream = session.request({ ...headers, ...bearer(token) });
      stream.on('error', () => undefined).end(acquireBody, () => session.destroy());
      await once(session, 'close');
    };
    await eventually('a line of the log', async () => {
      await Promise.all(forged.map(leave));
      return peers().length > 0;
    });
    expect(peers()).toEqual(peers().map(() => expect.stringMatching(/^127\.0\.0\.1:\d+$/) as string));
  },
);

/** Opens every stream of the contract and a waiting acquire. Resolves when all have reached an engine. */
async function openWaits(token: string) {
  const metadata = new Metadata();
  metadata.set('authorization', `Bearer ${token}`);
  const streams = await openEveryStream(harness, { metadata });
  let [isWaiting, isCancelled] = [false, false];
  harness.permits.answers.acquire = (engineCall) => {
    isWaiting = true;
    engineCall.onCancelled(() => (isCancelled = true));
    return new Promise(() => undefined);
  };
  const locks = harness.locks();
  const ask = () => failureOf(call(locks, locks.acquireLock, acquireRequest(), { metadata }));
  // A busy server may refuse the call.
  const askUntilServed = async (): Promise<ServiceError> => {
    const error = await ask();
    return error.code === status.RESOURCE_EXHAUSTED ? askUntilServed() : error;
  };
  const wait = askUntilServed();
  await eventually('the wait', () => isWaiting);
  const ends = async () => [...(await streams.ends), { path: ACQUIRE, error: await wait }];
  return { ends, cancelledCount: () => streams.cancelledCount() + Number(isCancelled) };
}

/** Two hold streams, two watches, the acquire of a session and a unary acquire. The engine of dictionaries learns of the end by the handlers. */
const WAITS_OF_LEASES = 6;

async function expectEnded({ ends, cancelledCount }: Awaited<ReturnType<typeof openWaits>>): Promise<void> {
  for (const { path, error } of await ends()) {
    expect([path, error.code]).toEqual([path, status.UNAUTHENTICATED]);
    expect(error.details).toContain('the credential of this call has ended');
    expect(error.details).toContain('[BAD_CREDENTIAL]');
  }
  await eventually('the engine to know', () => cancelledCount() === WAITS_OF_LEASES);
  await eventually('the import to be abandoned', () => harness.autocomplete.verbs.includes('abandon'));
}

test.each([
  ['a token of the token file', () => Promise.resolve('short-token')],
  ['a JSON web token', () => sign(key, { endsIn: 3600 })],
])('every stream and a wait end with UNAUTHENTICATED when %s ends', async (_title, makeToken) => {
  writeFileSync(tokens, TOKENS + tokenLine('short', 'short-token', 3_600_000));
  await eventually('the token', async () => (await acquire(bearer('short-token'))).code === status.OK);
  const waits = await openWaits(await makeToken());
  clock.leap(2 * 3_600_000);
  await expectEnded(waits);
});

test('streams and waits end when the operator removes the token, and those of others continue', async () => {
  writeFileSync(tokens, TOKENS + tokenLine('bob', 'stolen'));
  await eventually('the token', async () => (await acquire(bearer('stolen'))).code === status.OK);
  const waits = await openWaits('stolen');
  const others = await openWaits('good-token');
  writeFileSync(tokens, TOKENS);
  await expectEnded(waits);
  expect(others.cancelledCount()).toBe(0);
  expect((await acquire(bearer('stolen'))).reason).toBe('BAD_CREDENTIAL');
});

test('a server without authentication ignores credentials, and the engine gets no identity', async () => {
  const open = await Harness.start();
  const raw = new RawConnection(open.target);
  let identity: string | undefined;
  open.permits.answers.acquire = (engineCall) => {
    identity = engineCall.identity;
    return Promise.reject(new Error('seen'));
  };
  await raw.call({ path: ACQUIRE, body: acquireBody, headers: bearer('anything') });
  expect(identity).toBe('');
  raw.close();
  await open.close();
});

test('the token file of the test has no token in it', () => {
  expect(readFileSync(tokens, 'utf8')).not.toContain('good-token');
});

describe.each(['PutEntries', 'DeleteEntries', 'ImportDictionary'])(
  '%s, which may have a large request,',
  (method) => {
    const path = `/holdfast.v1.AutocompleteService/${method}`;

    test.each([
      ['without a credential', {}, 'NO_CREDENTIAL'],
      ['with a wrong token', bearer('wrong-token'), 'BAD_CREDENTIAL'],
      ['with a new JSON web token that is wrong', bearer('eyJhbGciOiJFUzI1NiJ9.e30.eA'), 'BAD_CREDENTIAL'],
    ])('is refused before its request arrives: %s', async (_title, headers, reason) => {
      expect((await connection.open({ path, headers }).outcome).reason).toBe(reason);
      expect(engineCalls()).toEqual([]);
    });
  },
);
