import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { credentials } from '@grpc/grpc-js';
import { holdfastError } from '../../clients/typescript';
import { LockServiceClient, ReleaseLockRequest } from '../../generated/typescript/holdfast/v1/lock_service';
import { SessionEndCause } from '../../generated/typescript/holdfast/v1/session_service';
import { tokenDigest } from '../../src/access/credentials';
import { acquireRequest, call, failureOf } from '../contract/harness';
import { metadataOf, writePolicy } from '../contract/policy-harness';
import { refusal } from '../support/clients/calls';
import { attach, lock, permits, release, SessionStream } from '../support/clients/session-stream';
import { closeAll, eventually } from '../support/eventually';
import { RedisProcess } from '../support/processes/redis-process';
import { RecordedCommands } from '../support/redis-commands';
import { scratchFolder } from '../support/scratch-folder';
import { InProcessServer } from './in-process-server';

describe('quotas', () => {
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
    writeFileSync(
      tokens,
      names.map((name) => `${name} sha256:${tokenDigest(`secret-of-${name}`)}\n`).join(''),
    );
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
});

describe('session access', () => {
  /** Sessions of two teams with a policy, in front of a real Redis. */

  const TEAMS = ['billing', 'search'] as const;
  const rule = (team: string, names = [`${team}/`]) => ({
    identities: [`token:${team}`],
    services: ['LockService', 'SemaphoreService'] as const,
    names,
    allow: ['read', 'use'] as const,
  });
  const RULES = TEAMS.map((team) => rule(team));

  /** A line of the token file: a team may have several tokens. */
  const tokenLine = (team: string, token = team) => `${team} sha256:${tokenDigest(`secret-of-${token}`)}\n`;

  let redis: RedisProcess;
  let server: InProcessServer;
  let policyFile: string;
  let tokenFile: string;
  const open: SessionStream[] = [];

  beforeAll(async () => {
    redis = await RedisProcess.start();
    const folder = scratchFolder();
    policyFile = join(folder, 'policy.yaml');
    tokenFile = join(folder, 'tokens');
    writeFileSync(tokenFile, TEAMS.map((team) => tokenLine(team)).join('') + tokenLine('billing', 'second'));
    writePolicy(policyFile, RULES);
    server = await InProcessServer.start(redis.url, {
      HOLDFAST_AUTH_TOKENS: tokenFile,
      HOLDFAST_POLICY: policyFile,
    });
  });
  afterAll(() =>
    closeAll(
      () => open.forEach((one) => one.close()),
      () => server?.close(),
      () => redis?.close(),
    ),
  );

  /** @param token a team, or another token of a team */
  function sessionOf(token: string): SessionStream {
    const one = new SessionStream(server.address, { metadata: metadataOf(token) });
    open.push(one);
    return one;
  }

  const reasonOf = async (one: SessionStream, commandId: number): Promise<string> =>
    (await one.event(commandId, 'failed')).reasonText;

  test('a session without a credential ends with NO_CREDENTIAL', async () => {
    const one = new SessionStream(server.address);
    open.push(one);
    expect((await one.ending).reason).toBe('NO_CREDENTIAL');
  });

  test('each command needs the permission for its name, and a refused command costs no command of Redis', async () => {
    const billing = sessionOf('billing');
    const search = sessionOf('search');
    const number = billing.run(lock('billing/a'));
    const { lease } = await billing.event(number, 'granted');
    const recorded = await RecordedCommands.start(redis);
    const { leaseId = '' } = lease ?? {};
    const refused = search.run(lock('billing/b'), permits('billing/p'), attach(leaseId), {
      $case: 'release',
      value: { lease: { $case: 'leaseId', value: leaseId } },
    });
    const reasons = [0, 1, 2, 3].map((index) => reasonOf(search, refused + index));
    expect(await Promise.all(reasons)).toEqual(Array(4).fill('NOT_ALLOWED'));
    // Without the permission to set limits, a semaphore must exist.
    expect(await reasonOf(billing, billing.run(permits('billing/p')))).toBe('NO_SUCH_SEMAPHORE');
    expect(await recorded.countWith('billing/b')).toBe(0);
    await recorded.stop();
    billing.run(release(number));
    await billing.event(number, 'ended');
  });

  test.concurrent(
    'a new policy ends waits and leases of names that it no longer allows, and the session continues',
    async () => {
      const [holder, waiter] = [sessionOf('search'), sessionOf('search')];
      const held = holder.run(lock('search/a'));
      await holder.event(held, 'granted');
      const waiting = waiter.run(lock('search/a'));
      await waiter.event(waiting, 'queued');
      writePolicy(policyFile, [rule('billing'), rule('search', ['search/b'])]);
      expect(await reasonOf(waiter, waiting)).toBe('NOT_ALLOWED');
      expect(await holder.event(held, 'ended')).toEqual({
        cause: SessionEndCause.SESSION_END_CAUSE_REVOKED,
      });
      const other = holder.run(lock('search/b'));
      await holder.event(other, 'granted');
      writePolicy(policyFile, RULES);
      await eventually('the old policy', async () => {
        const again = waiter.run(lock('search/c'));
        await eventually('an answer', () => waiter.kinds(again).length > 0);
        return waiter.kinds(again)[0] === 'granted';
      });
    },
  );

  test.concurrent(
    'a removed token ends its sessions, but no lease: each lives to its end, and another token attaches',
    async () => {
      const [ending, other] = [sessionOf('second'), sessionOf('billing')];
      const [long, short] = [
        ending.run(lock('billing/long', { ttlMs: 60_000 })),
        ending.run(lock('billing/short', { ttlMs: 8000 })),
      ];
      const { lease } = await ending.event(long, 'granted');
      await ending.event(short, 'granted');
      const next = other.run(lock('billing/short'));
      await other.event(next, 'queued');
      writeFileSync(tokenFile, TEAMS.map((team) => tokenLine(team)).join(''));
      expect((await ending.ending).reason).toBe('BAD_CREDENTIAL');
      expect(other.kinds(next)).not.toContain('granted');
      const attached = await other.event(other.run(attach(lease?.leaseId ?? '')), 'granted');
      expect(attached.lease?.fencingToken).toBe(lease?.fencingToken);
      await other.event(next, 'granted');
    },
  );
});
