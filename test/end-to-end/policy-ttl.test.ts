import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { credentials } from '@grpc/grpc-js';
import { holdfastError } from '../../clients/typescript';
import {
  LockServiceClient,
  RenewLockRequest,
  type HoldLockResponse,
} from '../../generated/typescript/holdfast/v1/lock_service';
import {
  AcquirePermitsRequest,
  SemaphoreServiceClient,
} from '../../generated/typescript/holdfast/v1/semaphore_service';
import { tokenDigest } from '../../src/access/credentials';
import type { PolicyRule } from '../../src/access/policy';
import { acquireRequest, call, failureOf, UUID_V4 } from '../contract/harness';
import { metadataOf, writePolicy } from '../contract/policy-harness';
import { lock, permits, SessionStream } from '../support/clients/session-stream';
import { closeAll, eventually } from '../support/eventually';
import { RedisProcess } from '../support/processes/redis-process';
import { RecordedCommands } from '../support/redis-commands';
import { scratchFolder } from '../support/scratch-folder';
import { InProcessServer } from './in-process-server';

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
/** A reload takes up to two seconds, and longer on a busy machine. */
jest.setTimeout(60_000);

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
