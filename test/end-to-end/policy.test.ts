import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { credentials, status, type Metadata, type ServiceError } from '@grpc/grpc-js';
import { AutocompleteServiceClient } from '../../generated/typescript/holdfast/v1/autocomplete_service';
import {
  ListLocksRequest,
  LockServiceClient,
  type HoldLockResponse,
} from '../../generated/typescript/holdfast/v1/lock_service';
import { tokenDigest } from '../../src/access/credentials';
import { entry } from '../contract/autocomplete-calls';
import { acquireRequest, call, failureOf } from '../contract/harness';
import { metadataOf, writePolicy } from '../contract/policy-harness';
import { closeAll, eventually } from '../support/eventually';
import { RedisProcess } from '../support/processes/redis-process';
import { RecordedCommands } from '../support/redis-commands';
import { scratchFolder } from '../support/scratch-folder';
import { InProcessServer } from './in-process-server';

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
/** A reload takes up to two seconds, and longer on a busy machine. */
jest.setTimeout(60_000);

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

test('a reload that takes a name away ends the stream with REVOKED, and its permits stay taken to the end of the ttl', async () => {
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
  // The lease is not renewed any more, and nobody gets the lock before its end.
  const { lock } = await call(locks, locks.getLock, { name }, as('billing'));
  expect(lock?.holders).toMatchObject([{ identity: 'token:search', revoked: true }]);
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
