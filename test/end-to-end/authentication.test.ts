import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { once } from 'node:events';
import { credentials, Metadata, status, type ServiceError } from '@grpc/grpc-js';
import {
  LockServiceClient,
  type HoldLockResponse,
} from '../../generated/typescript/holdfast/v1/lock_service';
import { tokenDigest } from '../../src/transport/access/bearer';
import { acquireRequest, call, failureOf } from '../contract/harness';
import { eventually } from '../support/eventually';
import { RedisProcess } from '../support/processes/redis-process';
import { scratchFolder } from '../support/scratch-folder';
import { InProcessServer } from './in-process-server';

/** Tokens in front of a real Redis. */

let redis: RedisProcess;
let server: InProcessServer;
let tokens: string;
const closers: (() => void)[] = [];

const line = (token: string, endsInMs?: number) =>
  `alice sha256:${tokenDigest(token)}${endsInMs === undefined ? '' : ` ${new Date(Date.now() + endsInMs).toISOString()}`}\n`;

beforeAll(async () => {
  redis = await RedisProcess.start({ appendfsync: 'no' });
  tokens = join(scratchFolder(), 'tokens');
  writeFileSync(tokens, line('lasting'));
  server = await InProcessServer.start(redis.url, { HOLDFAST_AUTH_TOKENS: tokens });
});
afterAll(async () => {
  for (const close of closers) close();
  await server.closeDespiteWarnings();
  await redis.close();
});

function connect(): LockServiceClient {
  const client = new LockServiceClient(server.address, credentials.createInsecure(), {
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

/** The commands that Redis has run since the last call of this function, as texts. */
async function commandsOfRedis(): Promise<readonly string[]> {
  const entries = (await redis.command('SLOWLOG', 'GET', '-1')) as readonly (readonly unknown[])[];
  await redis.command('SLOWLOG', 'RESET');
  return entries.map((entry) => JSON.stringify(entry[3]));
}

test('refused calls cost no command of Redis', async () => {
  await redis.command('CONFIG', 'SET', 'slowlog-log-slower-than', '0', 'slowlog-max-len', '100000');
  const client = connect();
  const acquire = (metadata: Metadata) =>
    call(client, client.acquireLock, acquireRequest({ name: 'whose-name-is-seen' }), { metadata });
  const ofName = async () =>
    (await commandsOfRedis()).filter((command) => command.includes('whose-name-is-seen'));
  for (let round = 0; round < 100; round += 1) {
    const error = await failureOf(acquire(round % 2 ? bearer('wrong') : new Metadata()));
    expect(error.code).toBe(status.UNAUTHENTICATED);
  }
  expect(await ofName()).toEqual([]);
  await acquire(bearer('lasting'));
  expect(await ofName()).not.toEqual([]);
});

test('a stream ends when its token ends, its lease lives on, and a new token attaches to the lease', async () => {
  writeFileSync(tokens, line('lasting') + line('short', 3500));
  const client = connect();
  await eventually('the token', () =>
    call(client, client.getLock, { name: 'x' }, { metadata: bearer('short') }).catch(() => undefined),
  );
  const acquire = {
    name: 'held',
    ttl: { seconds: 60n, nanos: 0 },
    requestId: '3f2504e0-4f89-41d3-9a0c-0305e82c3301',
  };
  const stream = client.holdLock(
    { start: { $case: 'acquire', value: acquireRequest(acquire) } },
    bearer('short'),
  );
  const ended = new Promise<ServiceError>((resolve) =>
    stream.on('error', (error: ServiceError) => resolve(error)),
  );
  const [first] = (await once(stream, 'data')) as [HoldLockResponse];
  const event = first.holdEvent?.event;
  if (event?.$case !== 'granted') throw new Error(`expected a grant, got ${event?.$case}`);
  const leaseId = event.value.lease?.leaseId ?? '';
  const waiter = failureOf(
    call(
      client,
      client.acquireLock,
      acquireRequest({ name: 'held', waitTimeout: { seconds: 3600n, nanos: 0 } }),
      {
        metadata: bearer('short'),
      },
    ),
  );
  const error = await ended;
  expect([error.code, error.details]).toEqual([
    status.UNAUTHENTICATED,
    expect.stringContaining('[BAD_CREDENTIAL]'),
  ]);
  expect((await waiter).code).toBe(status.UNAUTHENTICATED);

  const lasting = { metadata: bearer('lasting') };
  await eventually('the end of the wait', async () => {
    const { lock } = await call(client, client.getLock, { name: 'held' }, lasting);
    expect(lock?.holders).toHaveLength(1);
    return lock?.waiters.length === 0;
  });
  // The new token has the same identity.
  const again = client.holdLock({ start: { $case: 'leaseId', value: leaseId } }, lasting.metadata);
  again.on('error', () => undefined);
  const [attached] = (await once(again, 'data')) as [HoldLockResponse];
  expect(attached.holdEvent?.event?.$case).toBe('granted');
  await call(client, client.releaseLock, { leaseId }, lasting);
});
