import { randomUUID, X509Certificate } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { once } from 'node:events';
import { credentials, Metadata, status, type ServiceError } from '@grpc/grpc-js';
import {
  LockServiceClient,
  type HoldLockResponse,
} from '../../generated/typescript/holdfast/v1/lock_service';
import { tokenDigest } from '../../src/access/credentials';
import { AUDIENCE, ISSUER, keySetText, sign, signingKey, type SigningKey } from '../access/issuer';
import { acquireRequest, call, failureOf } from '../contract/harness';
import { Authority, type Issued } from '../support/certificates';
import { eventually } from '../support/eventually';
import { RedisProcess } from '../support/processes/redis-process';
import { RecordedCommands } from '../support/redis-commands';
import { scratchFolder } from '../support/scratch-folder';
import { InProcessServer } from './in-process-server';

/** Every way in, in front of a real Redis. */

let redis: RedisProcess;
let server: InProcessServer;
let tokens: string;
let key: SigningKey;
let authority: Authority;
const closers: (() => void)[] = [];

const line = (token: string, endsInMs?: number) =>
  `alice sha256:${tokenDigest(token)}${endsInMs === undefined ? '' : ` ${new Date(Date.now() + endsInMs).toISOString()}`}\n`;

beforeAll(async () => {
  redis = await RedisProcess.start({ appendfsync: 'no' });
  const folder = scratchFolder();
  tokens = join(folder, 'tokens');
  writeFileSync(tokens, line('lasting'));
  key = await signingKey('k');
  writeFileSync(join(folder, 'keys'), await keySetText([key]));
  authority = new Authority(folder);
  const ofServer = authority.issueForServer();
  server = await InProcessServer.start(redis.url, {
    HOLDFAST_TLS_CERT: ofServer.cert,
    HOLDFAST_TLS_KEY: ofServer.key,
    HOLDFAST_TLS_CLIENT_CA: authority.cert,
    HOLDFAST_AUTH_TOKENS: tokens,
    HOLDFAST_AUTH_JWT_ISSUER: ISSUER,
    HOLDFAST_AUTH_JWT_AUDIENCE: AUDIENCE,
    HOLDFAST_AUTH_JWT_JWKS: join(folder, 'keys'),
  });
});
afterAll(async () => {
  for (const close of closers) close();
  await server.closeDespiteWarnings();
  await redis.close();
});

function connect(issued?: Issued): LockServiceClient {
  const own = issued && ([readFileSync(issued.key), readFileSync(issued.cert)] as const);
  const channel = credentials.createSsl(authority.pem, ...(own ?? []));
  const client = new LockServiceClient(server.address, channel, {
    'grpc.use_local_subchannel_pool': 1,
  });
  closers.push(() => client.close());
  return client;
}

function bearer(token: string): Metadata {
  const metadata = new Metadata();
  metadata.set('authorization', `Bearer ${token}`);
  return metadata;
}

test('refused calls cost no command of Redis', async () => {
  const commands = await RecordedCommands.start(redis);
  const client = connect();
  const acquire = (metadata: Metadata) =>
    call(client, client.acquireLock, acquireRequest({ name: 'refused' }), { metadata });
  for (let round = 0; round < 100; round += 1) {
    const error = await failureOf(acquire(round % 2 ? bearer('wrong') : new Metadata()));
    expect(error.code).toBe(status.UNAUTHENTICATED);
  }
  expect(await commands.countWith('refused')).toBe(0);
  await acquire(bearer('lasting'));
  expect(await commands.countWith('refused')).toBeGreaterThan(0);
  await commands.stop();
});

/** A caller with one credential. */
interface Caller {
  readonly client: LockServiceClient;
  readonly metadata: Metadata;
}

const withToken = (token: string): Caller => ({ client: connect(), metadata: bearer(token) });
const withCertificate = (issued: Issued): Caller => ({ client: connect(issued), metadata: new Metadata() });
const WORKER = { names: 'URI:spiffe://example.org/worker', days: 1 };
/** How long a credential that ends is good (ms): long enough for a busy machine to open its calls. */
const LIFE_MS = 7000;

/** Two callers of one identity: the credential of the first ends soon. */
const WAYS_IN: readonly (readonly [string, () => Promise<readonly [ending: Caller, lasting: Caller]>])[] = [
  [
    'a token of the token file',
    async () => {
      writeFileSync(tokens, line('lasting') + line('short', LIFE_MS));
      const ending = withToken('short');
      await eventually('the token', () => look(ending).catch(() => undefined));
      return [ending, withToken('lasting')];
    },
  ],
  [
    'a JSON web token',
    async () => {
      // A token is accepted for 30 s after its end.
      const ending = await sign(key, { endsIn: LIFE_MS / 1000 - 30 });
      return [withToken(ending), withToken(await sign(key))];
    },
  ],
  [
    'a client certificate',
    async () => {
      const issued = authority.issue(WORKER);
      const ending = withCertificate(issued);
      // The shortest lifetime that openssl makes is a day. The server reads the certificate with the first call.
      const now = Date.now.bind(Date);
      const lifeMs = Date.parse(new X509Certificate(readFileSync(issued.cert)).validTo) - now();
      const day = jest.spyOn(Date, 'now').mockImplementation(() => now() + lifeMs - LIFE_MS);
      await look(ending);
      day.mockRestore();
      return [ending, withCertificate(authority.issue(WORKER))];
    },
  ],
];

async function look({ client, metadata }: Caller, name = 'x') {
  const { lock } = await call(client, client.getLock, { name }, { metadata });
  if (lock === undefined) throw new Error('the answer has no lock');
  return lock;
}

/** Acquires or attaches. Resolves to the lease_id after the grant, and to the error of the stream. */
async function hold(
  { client, metadata }: Caller,
  start: NonNullable<Parameters<LockServiceClient['holdLock']>[0]['start']>,
) {
  const stream = client.holdLock({ start }, metadata);
  const ended = new Promise<ServiceError>((resolve) => stream.on('error', resolve));
  const [first] = (await once(stream, 'data')) as [HoldLockResponse];
  const event = first.holdEvent?.event;
  if (event?.$case !== 'granted') throw new Error(`expected a grant, got ${event?.$case}`);
  return { leaseId: event.value.lease?.leaseId ?? '', ended };
}

test.each(WAYS_IN)(
  'a stream and a wait end when %s ends, the lease lives on, and a new credential attaches to the lease',
  async (name, callers) => {
    const [ending, lasting] = await callers();
    const ttl = { seconds: 60n, nanos: 0 };
    const value = acquireRequest({ name, ttl, requestId: randomUUID() });
    const { leaseId, ended } = await hold(ending, { $case: 'acquire', value });
    const { client, metadata } = ending;
    const waiting = acquireRequest({ name, waitTimeout: { seconds: 3600n, nanos: 0 } });
    const wait = failureOf(call(client, client.acquireLock, waiting, { metadata }));
    for (const error of [await ended, await wait]) {
      expect([error.code, error.details]).toEqual([
        status.UNAUTHENTICATED,
        expect.stringContaining('the credential of this call has ended'),
      ]);
    }
    const { holders } = await eventually('the end of the wait', async () => {
      const lock = await look(lasting, name);
      return lock.waiterCount === 0 && lock;
    });
    expect(holders).toMatchObject([{ revoked: false }]);
    // The new credential has the same identity.
    const attached = await hold(lasting, { $case: 'leaseId', value: leaseId });
    expect(attached.leaseId).toBe(leaseId);
    await call(lasting.client, lasting.client.releaseLock, { leaseId }, { metadata: lasting.metadata });
  },
);
