import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { credentials } from '@grpc/grpc-js';
import { holdfastError } from '../../clients/typescript';
import { LockServiceClient, ReleaseLockRequest } from '../../generated/typescript/holdfast/v1/lock_service';
import { tokenDigest } from '../../src/access/credentials';
import { acquireRequest, call, failureOf } from '../contract/harness';
import { metadataOf, writePolicy } from '../contract/policy-harness';
import { closeAll, eventually } from '../support/eventually';
import { refusal } from '../support/clients/calls';
import { RedisProcess } from '../support/processes/redis-process';
import { scratchFolder } from '../support/scratch-folder';
import { InProcessServer } from './in-process-server';

/** The quotas of leases and waiters, for each connection, with a real Redis. */

let redis: RedisProcess;
let server: InProcessServer;
beforeAll(async () => {
  redis = await RedisProcess.start();
  server = await InProcessServer.start(redis.url, {
    HOLDFAST_QUOTA_LEASES: '3',
    HOLDFAST_QUOTA_WAITERS: '1',
  });
});
afterAll(() =>
  closeAll(
    () => server?.close(),
    () => redis?.close(),
  ),
);

test('a connection gets no more leases than its quota, also by waits, and a release makes room', async () => {
  const client = server.client();
  const other = server.client();
  const held = await other.acquire({ name: 'shared' });
  const waiter = client.acquire({ name: 'shared', waitMs: 60_000 });
  await eventually('the waiter', async () => (await other.get('shared')).waiterCount === 1);
  const first = await client.acquire({ name: 'a' });
  await client.acquire({ name: 'b' });
  expect(await refusal(client.acquire({ name: 'c' }))).toMatchObject({
    reason: 'QUOTA_EXCEEDED',
    metadata: { quota: 'leases', limit: '3' },
  });
  await other.release(held.leaseId);
  const granted = await waiter;
  await client.renew(granted.leaseId);
  await client.release(first.leaseId);
  await client.acquire({ name: 'c' });
  expect((await refusal(client.acquire({ name: 'd' }))).reason).toBe('QUOTA_EXCEEDED');
  // Another connection has quotas of its own.
  await other.acquire({ name: 'd' });
});

test('a connection has no more waiting requests than its quota, and still acquires free locks', async () => {
  const client = server.client();
  const other = server.client();
  const held = await other.acquire({ name: 'taken' });
  const waiter = client.acquire({ name: 'taken', waitMs: 60_000 });
  await eventually('the waiter', async () => (await other.get('taken')).waiterCount === 1);
  expect(await refusal(client.acquire({ name: 'taken', waitMs: 60_000 }))).toMatchObject({
    reason: 'QUOTA_EXCEEDED',
    metadata: { quota: 'waiters', limit: '1' },
  });
  await client.acquire({ name: 'free', waitMs: 60_000 });
  await other.release(held.leaseId);
  await waiter;
});

test('identities of an item that counts together share its quota, and a release of one makes room for another', async () => {
  const folder = scratchFolder();
  const [tokens, policy] = [join(folder, 'tokens'), join(folder, 'policy.yaml')];
  const names = ['batch-1', 'batch-2', 'other'];
  writeFileSync(tokens, names.map((name) => `${name} sha256:${tokenDigest(`secret-of-${name}`)}\n`).join(''));
  writePolicy(
    policy,
    [{ identities: ['token:*'], services: ['LockService'], names: [''], allow: ['use'] }],
    [{ identities: ['token:batch-*'], count: 'together', leases: 2 }],
  );
  const access = { HOLDFAST_AUTH_TOKENS: tokens, HOLDFAST_POLICY: policy };
  const shared = await InProcessServer.start(redis.url, access);
  const locks = new LockServiceClient(shared.address, credentials.createInsecure());
  const acquire = (caller: string, name: string) =>
    call(locks, locks.acquireLock, acquireRequest({ name }), { metadata: metadataOf(caller) });
  try {
    const first = await acquire('batch-1', 'together/1');
    await acquire('batch-2', 'together/2');
    expect(holdfastError(await failureOf(acquire('batch-2', 'together/3')))).toMatchObject({
      reason: 'QUOTA_EXCEEDED',
      metadata: new Map([
        ['quota', 'leases'],
        ['limit', '2'],
      ]),
    });
    await acquire('other', 'together/4');
    const release = ReleaseLockRequest.create({ leaseId: first.lease?.leaseId ?? '' });
    await call(locks, locks.releaseLock, release, { metadata: metadataOf('batch-1') });
    await acquire('batch-2', 'together/3');
  } finally {
    locks.close();
    await shared.closeDespiteWarnings();
  }
});
