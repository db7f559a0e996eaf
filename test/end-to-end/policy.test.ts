import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { credentials, type Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { holdfastError } from '../../clients/typescript';
import { AutocompleteServiceClient } from '../../generated/typescript/holdfast/v1/autocomplete_service';
import {
  type HoldLockResponse,
  ListLocksRequest,
  LockServiceClient,
  RenewLockRequest,
} from '../../generated/typescript/holdfast/v1/lock_service';
import {
  AcquirePermitsRequest,
  SemaphoreServiceClient,
} from '../../generated/typescript/holdfast/v1/semaphore_service';
import { tokenDigest } from '../../src/access/credentials';
import type { PolicyRule } from '../../src/access/policy';
import { entry } from '../contract/autocomplete-calls';
import { acquireRequest, call, failureOf, UUID_V4 } from '../contract/harness';
import { metadataOf, writePolicy } from '../contract/policy-harness';
import { lock, permits, SessionStream } from '../support/clients/session-stream';
import { closeAll, eventually } from '../support/eventually';
import { RedisProcess } from '../support/processes/redis-process';
import { RecordedCommands } from '../support/redis-commands';
import { scratchFolder } from '../support/scratch-folder';
import { InProcessServer } from './in-process-server';

describe('policy', () => {
  /** Two teams with a policy, in front of a real Redis. */

  const ALL = ['LockService', 'SemaphoreService', 'AutocompleteService'] as const;
  const teamRule = (team: string) => ({
    identities: [`token:${team}`],
    services: [...ALL],
    names: [`${team}/`],
    allow: ['read', 'use', 'limit', 'import'] as const,
  });
  const RULES = [teamRule('billing'), teamRule('search')];
  const TTL = { seconds: 120n, nanos: 0 };

  let redis: RedisProcess;
  let server: InProcessServer;
  let policyFile: string;
  let locks: LockServiceClient;
  let dictionaries: AutocompleteServiceClient;

  beforeAll(async () => {
    redis = await RedisProcess.start();
    const folder = scratchFolder();
    policyFile = join(folder, 'policy.yaml');
    const tokens = join(folder, 'tokens');
    writeFileSync(
      tokens,
      ['billing', 'search', 'nobody']
        .map((name) => `${name} sha256:${tokenDigest(`secret-of-${name}`)}\n`)
        .join(''),
    );
    writePolicy(policyFile, RULES);
    server = await InProcessServer.start(redis.url, {
      HOLDFAST_AUTH_TOKENS: tokens,
      HOLDFAST_POLICY: policyFile,
    });
    const options = { 'grpc.use_local_subchannel_pool': 1 };
    locks = new LockServiceClient(server.address, credentials.createInsecure(), options);
    dictionaries = new AutocompleteServiceClient(server.address, credentials.createInsecure(), options);
  });
  afterAll(() =>
    closeAll(
      () => locks?.close(),
      () => dictionaries?.close(),
      () => server?.close(),
      () => redis?.close(),
    ),
  );

  const as = (name: string): { metadata: Metadata } => ({ metadata: metadataOf(name) });
  const acquire = (caller: string, fields: Parameters<typeof acquireRequest>[0]) =>
    call(locks, locks.acquireLock, acquireRequest(fields), as(caller));

  test('calls that the policy refuses cost no command of Redis, and calls that the policy allows work', async () => {
    const commands = await RecordedCommands.start(redis);
    const name = 'billing/not-for-search';
    for (const caller of ['search', 'nobody']) {
      const put = { dictionary: name, entries: [entry()] };
      for (const refused of [
        acquire(caller, { name }),
        call(locks, locks.getLock, { name }, as(caller)),
        call(dictionaries, dictionaries.putEntries, put, as(caller)),
        call(dictionaries, dictionaries.deleteRecents, { list: name }, as(caller)),
      ]) {
        expect((await failureOf(refused)).code).toBe(status.PERMISSION_DENIED);
      }
    }
    expect(await commands.countWith('not-for-search')).toBe(0);
    await acquire('billing', { name });
    expect(await commands.countWith('not-for-search')).toBeGreaterThan(0);
    await commands.stop();
  });

  test('a team sees its own locks in a list, and not those of another team', async () => {
    await acquire('billing', { name: 'billing/listed' });
    await acquire('search', { name: 'search/listed' });
    const namesOf = async (caller: string): Promise<readonly string[]> => {
      const request = ListLocksRequest.create({ pageSize: 100 });
      const names: string[] = [];
      do {
        const page = await call(locks, locks.listLocks, request, as(caller));
        names.push(...page.locks.map(({ name }) => name));
        request.pageToken = page.nextPageToken;
      } while (request.pageToken !== '');
      return names;
    };
    const [billing, search, nobody] = await Promise.all(['billing', 'search', 'nobody'].map(namesOf));
    expect(billing).toContain('billing/listed');
    expect(billing?.every((name) => name.startsWith('billing/'))).toBe(true);
    expect(search).toEqual(['search/listed']);
    expect(nobody).toEqual([]);
  });

  test('a reload that takes a name away ends the stream with REVOKED, and the lock stays taken', async () => {
    const name = 'search/worker';
    const held = locks.holdLock(
      {
        start: {
          $case: 'acquire',
          value: acquireRequest({ name, ttl: TTL, requestId: '3f2504e0-4f89-41d3-9a0c-0305e82c3301' }),
        },
      },
      as('search').metadata,
    );
    const events: HoldLockResponse[] = [];
    const ended = new Promise<ServiceError>((resolve) => held.on('error', resolve));
    await once(
      held.on('data', (event: HoldLockResponse) => events.push(event)),
      'data',
    );
    const readAll = { ...teamRule('billing'), names: ['billing/', 'search/'] };
    writePolicy(policyFile, [readAll]);
    const error = await ended;
    expect([error.code, error.metadata.get('holdfast-reason')]).toEqual([status.ABORTED, ['LEASE_LOST']]);
    expect(events.at(-1)?.holdEvent?.event?.$case).toBe('lost');
    // The lease is no longer renewed, and nobody else gets the lock before its end.
    const { lock: shown } = await call(locks, locks.getLock, { name }, as('billing'));
    expect(shown?.holders).toMatchObject([{ identity: 'token:search', revoked: true }]);
    expect((await failureOf(acquire('billing', { name, waitTimeout: { seconds: 0n, nanos: 0 } }))).code).toBe(
      status.ABORTED,
    );
    expect((await failureOf(acquire('search', { name }))).code).toBe(status.PERMISSION_DENIED);
    writePolicy(policyFile, RULES);
    await eventually('the permission', () =>
      acquire('search', { name: 'search/again' }).then(
        () => true,
        () => false,
      ),
    );
  });
});

describe('policy ttl', () => {
  /** A policy whose rules bound the ttl of some callers, in front of a real Redis. */

  const rule = (values: Partial<PolicyRule> = {}): PolicyRule => ({
    identities: ['token:a'],
    services: ['LockService', 'SemaphoreService'],
    names: [''],
    allow: ['read', 'use', 'limit'],
    ...values,
  });
  const RULES = [rule({ max_ttl: '20s' }), rule({ names: ['long/'] })];
  const span = (seconds: number) => ({ seconds: BigInt(seconds), nanos: 0 });
  const TOO_LONG = 'is 21 s and must be from 100 ms to 20 s, the bound for this caller and name';

  let redis: RedisProcess;
  let server: InProcessServer;
  let policyFile: string;
  let locks: LockServiceClient;
  let semaphores: SemaphoreServiceClient;
  const as = { metadata: metadataOf('a') };

  beforeAll(async () => {
    redis = await RedisProcess.start({ inMemory: true });
    const folder = scratchFolder();
    const tokens = join(folder, 'tokens');
    policyFile = join(folder, 'policy.yaml');
    writeFileSync(tokens, `a sha256:${tokenDigest('secret-of-a')}\n`);
    writePolicy(policyFile, RULES);
    server = await InProcessServer.start(redis.url, {
      HOLDFAST_AUTH_TOKENS: tokens,
      HOLDFAST_POLICY: policyFile,
    });
    locks = new LockServiceClient(server.address, credentials.createInsecure());
    semaphores = new SemaphoreServiceClient(server.address, credentials.createInsecure());
  });
  afterAll(() =>
    closeAll(
      () => locks?.close(),
      () => semaphores?.close(),
      () => server?.close(),
      () => redis?.close(),
    ),
  );

  const acquire = (name: string, seconds?: number) =>
    call(
      locks,
      locks.acquireLock,
      acquireRequest({ name, ttl: seconds === undefined ? undefined : span(seconds), waitTimeout: span(0) }),
      as,
    );
  const renew = (leaseId: string, seconds?: number) =>
    call(
      locks,
      locks.renewLock,
      RenewLockRequest.create({ leaseId, ttl: seconds ? span(seconds) : undefined }),
      as,
    );
  const violationsOf = async (pending: Promise<unknown>) => {
    const error = holdfastError(await failureOf(pending));
    expect(error?.reason).toBe('INVALID_FIELD');
    return error?.violations.map(({ field, description }) => `${field} ${description}`);
  };

  test('an acquire above the bound gets INVALID_FIELD with the bound and every other bad field, and costs no command', async () => {
    const commands = await RecordedCommands.start(redis);
    expect(await violationsOf(acquire('too-long', 21))).toEqual([`ttl ${TOO_LONG}`]);
    const request = AcquirePermitsRequest.create({ name: 'too-long', ttl: span(21), permitCount: -1 });
    expect(await violationsOf(call(semaphores, semaphores.acquirePermits, request, as))).toEqual([
      expect.stringContaining('permit_count'),
      `ttl ${TOO_LONG}`,
    ]);
    const session = new SessionStream(server.address, as);
    for (const command of [lock('too-long', { ttl: span(21) }), permits('too-long', { ttl: span(21) })]) {
      const { message } = await session.event(session.run(command), 'failed');
      expect(message).toContain(TOO_LONG);
    }
    session.close();
    expect(await commands.countWith('too-long')).toBe(0);
    await commands.stop();
  });

  test('an acquire without a ttl gets the bound if it is below the default, and a shorter ttl as asked', async () => {
    expect((await acquire('default')).lease?.ttl).toEqual(span(20));
    expect((await acquire('short', 5)).lease?.ttl).toEqual(span(5));
    expect((await acquire('long/default')).lease?.ttl).toEqual(span(30));
    expect((await acquire('long/a', 21)).lease?.ttl).toEqual(span(21));
    const session = new SessionStream(server.address, as);
    const { lease } = await session.event(session.run(lock('session', { ttl: undefined })), 'granted');
    expect(lease?.ttl).toEqual(span(20));
    session.close();
  });

  test('a hold stream has the bound too', async () => {
    const hold = (seconds?: number) => {
      const value = acquireRequest({
        name: 'hold',
        requestId: UUID_V4,
        ttl: seconds ? span(seconds) : undefined,
      });
      return locks.holdLock({ start: { $case: 'acquire', value } }, as.metadata);
    };
    const first = await new Promise<HoldLockResponse>((resolve, reject) => {
      const stream = hold();
      stream.on('error', reject).once('data', (event: HoldLockResponse) => {
        resolve(event);
        stream.on('error', () => undefined).cancel();
      });
    });
    expect(first.holdEvent?.event).toMatchObject({ $case: 'granted', value: { lease: { ttl: span(20) } } });
    const failure = new Promise((_, reject) => hold(21).on('error', reject).on('data', reject));
    expect(await violationsOf(failure)).toEqual([`acquire.ttl ${TOO_LONG}`]);
  });

  test('after a reload with a smaller bound, a renewal keeps the ttl as granted, and may not ask for more', async () => {
    const { lease } = await acquire('long/kept', 100);
    const leaseId = lease?.leaseId ?? '';
    writePolicy(policyFile, [rule({ max_ttl: '20s' })]);
    await eventually('the new policy', async () => {
      const refused = await acquire('long/probe', 21).then(
        () => false,
        (error: Error) => holdfastError(error)?.reason === 'INVALID_FIELD',
      );
      return refused;
    });
    expect(await violationsOf(renew(leaseId, 21))).toEqual([`ttl ${TOO_LONG}`]);
    expect((await renew(leaseId)).lease?.ttl).toEqual(span(100));
    // Within the bound, although a renewal never brings the end nearer.
    expect((await renew(leaseId, 20)).lease?.leaseId).toBe(leaseId);
  });
});
