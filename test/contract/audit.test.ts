import { LockServiceClient } from '../../generated/typescript/holdfast/v1/lock_service';
import { SemaphoreServiceClient } from '../../generated/typescript/holdfast/v1/semaphore_service';
import { HoldfastError } from '../../src/base/errors';
import { SERVICES, VERBS } from '../../src/access/policy';
import { lock, SessionStream } from '../support/clients/session-stream';
import { eventually } from '../support/eventually';
import { batch, commit, entry } from './autocomplete-calls';
import type { Harness } from './harness';
import { acquireRequest, call, failureOf, TRACEPARENT as traceparent } from './harness';
import { metadataOf, startWithPolicy } from './policy-harness';

/** The audit lines of calls. The harness writes them to its log. */

let harness: Harness;
beforeAll(async () => {
  const rule = { services: [...SERVICES], names: [''], allow: [...VERBS] };
  ({ harness } = await startWithPolicy(
    ['ops', 'guest', 'visitor'],
    [
      { ...rule, identities: ['token:ops'] },
      { ...rule, identities: ['token:guest', 'token:visitor'], names: ['guest/'] },
    ],
  ));
});
beforeEach(() => {
  harness.permits.reset();
  harness.autocomplete.reset();
  harness.audited.splice(0);
});
afterAll(() => harness.close());

const lines = () => harness.audited.filter(({ fields }) => 'action' in fields).map(({ fields }) => fields);
const ops = { metadata: metadataOf('ops') };
const semaphores = () => harness.client(SemaphoreServiceClient);

test.each([
  [true, 'pause semaphore'],
  [false, 'resume semaphore'],
])('a change of the limit with paused %p has a line with the action "%s"', async (paused, action) => {
  const client = semaphores();
  const request = { name: 's', limit: undefined, expectedLimit: undefined, paused };
  await call(client, client.setSemaphoreLimit, request, ops);
  expect(lines()).toMatchObject([{ action, name: 's', outcome: 'OK' }]);
});

test('a change of a limit has a line with the limit and the outcome', async () => {
  const client = semaphores();
  const request = { name: 's', limit: 3, expectedLimit: 2 };
  await call(client, client.setSemaphoreLimit, request, ops);
  harness.permits.failWith(new HoldfastError('LIMIT_MISMATCH', 'the limit is 7'));
  await failureOf(call(client, client.setSemaphoreLimit, request, ops));
  const line = {
    identity: 'token:ops',
    peer: expect.stringMatching(/^127\.0\.0\.1:\d+$/) as string,
    method: '/holdfast.v1.SemaphoreService/SetSemaphoreLimit',
    action: 'set limit',
    name: 's',
    limit: 3,
    expectedLimit: 2,
  };
  expect(lines()).toEqual([
    { ...line, outcome: 'OK' },
    { ...line, outcome: 'LIMIT_MISMATCH' },
  ]);
});

test('creations and deletions have lines, and a forced deletion says so', async () => {
  const client = semaphores();
  await call(client, client.deleteSemaphore, { name: 's', force: false }, ops);
  await call(client, client.deleteSemaphore, { name: 's', force: true }, ops);
  const completions = harness.completions();
  const created = { dictionary: 'towns', profile: undefined };
  await call(completions, completions.createDictionary, created, ops);
  await call(completions, completions.deleteDictionary, { dictionary: 'towns' }, ops);
  expect(lines().map(({ action, name }) => [action, name])).toEqual([
    ['delete semaphore', 's'],
    ['delete semaphore by force', 's'],
    ['create dictionary', 'towns'],
    ['delete dictionary', 'towns'],
  ]);
});

test('a committed import has a line, and an import without a commit has none', async () => {
  const client = harness.completions();
  const run = (parts: readonly object[]) =>
    new Promise((resolve) => {
      const stream = client.importDictionary(ops.metadata, resolve);
      for (const part of parts) stream.write({ part } as never);
      stream.end();
    });
  const start = { $case: 'start', value: { dictionary: 'towns', profile: undefined } };
  await run([start, batch([entry()])]);
  expect(lines()).toEqual([]);
  await run([start, batch([entry()]), commit(1)]);
  expect(lines()).toMatchObject([{ action: 'import dictionary', name: 'towns', outcome: 'OK' }]);
});

test('the end of a quarantine has a line with the reason, in escaped form', async () => {
  const client = harness.info();
  await call(client, client.endQuarantine, { reason: 'all stopped \u202e' }, ops);
  expect(lines()).toMatchObject([
    { action: 'end quarantine', requestReason: 'all stopped \\u{202e}', outcome: 'OK' },
  ]);
});

test('the lines of the server about the end of a quarantine escape the reason', async () => {
  const client = harness.info();
  harness.logged.splice(0);
  harness.store.quarantine = { remainingMs: 1000, cause: 'restarted' };
  await call(client, client.endQuarantine, { reason: 'done \u202e\u2028' }, ops);
  expect(harness.logged.map(({ fields }) => fields['reason'])).toEqual(['done \\u{202e}\\u{2028}']);
});

test('a revocation has a line with its target, force and reason', async () => {
  const client = harness.client(LockServiceClient);
  const target = { $case: 'fencingToken', value: 77n } as const;
  const request = { name: 'jobs/1', target, enqueueTime: undefined, force: true, reason: 'stuck' };
  await call(client, client.revokeLock, request, ops).catch(() => undefined);
  expect(lines()).toMatchObject([
    { action: 'revoke', name: 'jobs/1', target: 'fencingToken 77', force: true, requestReason: 'stuck' },
  ]);
});

test('a refusal has one line, and the refused act has none', async () => {
  const client = semaphores();
  await failureOf(
    call(
      client,
      client.setSemaphoreLimit,
      { name: 's', limit: 3, expectedLimit: undefined },
      { metadata: metadataOf('guest') },
    ),
  );
  expect(lines()).toMatchObject([
    { identity: 'token:guest', action: 'refused', verb: 'limit', name: 's', outcome: 'NOT_ALLOWED' },
  ]);
});

test('invalid requests, and calls that only hold leases or read, have no line', async () => {
  const client = semaphores();
  await failureOf(
    call(client, client.setSemaphoreLimit, { name: 's', limit: -1, expectedLimit: undefined }, ops),
  );
  const locks = harness.locks();
  await call(locks, locks.acquireLock, acquireRequest(), ops);
  await call(locks, locks.getLock, { name: 'x' }, ops);
  expect(lines()).toEqual([]);
});

test('an audit line has the traceparent and the x-request-id of its call, and leaves out invalid values', async () => {
  const revoke = async (headers: Record<string, string>) => {
    const metadata = metadataOf('ops');
    for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
    const client = harness.client(LockServiceClient);
    const target = { $case: 'fencingToken', value: 7n } as const;
    const request = { name: 'traced', target, enqueueTime: undefined, force: false, reason: '' };
    await call(client, client.revokeLock, request, { metadata }).catch(() => undefined);
    return harness.audited.at(-1)?.fields;
  };
  expect(await revoke({ traceparent, 'x-request-id': 'job-7' })).toMatchObject({
    traceparent,
    callId: 'job-7',
  });
  const wrong = await revoke({ traceparent: '00-0-0-0' });
  expect(wrong).toMatchObject({ name: 'traced' });
  expect(Object.keys(wrong ?? {})).not.toContain('traceparent');
});

test('the line of a refused command has the traceparent of its session', async () => {
  // Its refusals have no line in the second before.
  const metadata = metadataOf('visitor');
  metadata.set('traceparent', traceparent);
  const session = new SessionStream(harness.target, { metadata });
  const number = session.run(lock('ops/a'));
  await eventually('an answer', () => session.kinds(number).length > 0);
  session.close();
  expect(lines()).toMatchObject([
    { identity: 'token:visitor', action: 'refused', outcome: 'NOT_ALLOWED', name: 'ops/a', traceparent },
  ]);
});

test('a command of a session above a quota of leases has a line, as a call has', async () => {
  const quota = { metadata: { quota: 'leases', limit: '3' } };
  harness.permits.failWith(new HoldfastError('QUOTA_EXCEEDED', 'too many leases', quota));
  const session = new SessionStream(harness.target, { metadata: metadataOf('ops') });
  const number = session.run(lock('ops/a'));
  await eventually('an answer', () => session.kinds(number).length > 0);
  session.close();
  expect(lines()).toMatchObject([
    { identity: 'token:ops', action: 'refused', outcome: 'QUOTA_EXCEEDED', quota: 'leases', limit: '3' },
  ]);
});
