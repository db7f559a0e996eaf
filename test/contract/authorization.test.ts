import { writeFileSync } from 'node:fs';
import { status, type ServiceError } from '@grpc/grpc-js';
import { BinaryWriter } from '@bufbuild/protobuf/wire';
import {
  AutocompleteServiceClient,
  Entry,
  type ImportDictionaryResponse,
  type SuggestStreamResponse,
} from '../../generated/typescript/holdfast/v1/autocomplete_service';
import {
  LockServiceClient,
  type HoldLockResponse,
} from '../../generated/typescript/holdfast/v1/lock_service';
import {
  AcquirePermitsRequest,
  SemaphoreServiceClient,
} from '../../generated/typescript/holdfast/v1/semaphore_service';
import type { NameReader } from '../../src/autocomplete/autocomplete';
import type { Call } from '../../src/base/call';
import { HoldfastError } from '../../src/base/errors';
import { encodeLeaseId } from '../../src/leases/lease-id';
import { type PolicyRule, SERVICES, VERBS } from '../../src/access/policy';
import { eventually } from '../support/eventually';
import { batch, commit, entries, entry, suggestRequest } from './autocomplete-calls';
import { onePage, someLease } from './fake-engines';
import type { Harness } from './harness';
import { acquireRequest, call, failureOf, RELOAD_MS, UUID_V4 } from './harness';
import { metadataOf, startWithPolicy, writePolicy } from './policy-harness';
import { frame, RawConnection } from './raw-call';

/** Two teams on one server with fake engines: attacks on names, and reloads of the policy. */

const teamRule = (team: string, values: Partial<PolicyRule> = {}): PolicyRule => ({
  identities: [`token:${team}`],
  services: [...SERVICES],
  names: [`${team}/`],
  allow: ['read', 'use', 'import'],
  ...values,
});
const RULES = [
  teamRule('team-a'),
  teamRule('team-b'),
  teamRule('ops', { names: [''], allow: [...VERBS] }),
  teamRule('writer', { names: ['team-a/'], allow: ['use'] }),
];

let harness: Harness;
let policyFile: string;
beforeAll(async () => {
  const names = ['team-a', 'team-b', 'ops', 'writer', 'nobody'];
  ({ harness, policyFile } = await startWithPolicy(names, RULES, { access: { intervalMs: RELOAD_MS } }));
});
beforeEach(() => {
  harness.permits.reset();
  harness.autocomplete.reset();
  harness.logged.splice(0);
});
afterEach(async () => {
  if (isChanged) await reload(RULES);
  isChanged = false;
});
afterAll(() => harness.close());

/** Writes the policy, and waits until the server uses the policy. */
async function reload(rules: readonly PolicyRule[]): Promise<void> {
  isChanged = true;
  const marked = [...rules, teamRule(`reload-${(reloads += 1)}`)];
  const logged = harness.logged.length;
  writePolicy(policyFile, marked);
  await until(() =>
    harness.logged.slice(logged).some(({ message }) => message === 'loaded the policy again'),
  );
}
let reloads = 0;
let isChanged = false;

/** Waits until the condition holds. */
const until = (condition: () => boolean) =>
  eventually('the condition holds', () => Promise.resolve(condition()));

const locks = () => harness.locks();
const engineCalls = () => [...harness.permits.calls, ...harness.autocomplete.calls];

async function acquire(caller: string, name: string): Promise<unknown> {
  const client = locks();
  return call(client, client.acquireLock, acquireRequest({ name }), { metadata: metadataOf(caller) });
}

function expectNotAllowed(error: ServiceError): void {
  expect([error.code, error.metadata.get('holdfast-reason')]).toEqual([
    status.PERMISSION_DENIED,
    ['NOT_ALLOWED'],
  ]);
}

test.each([
  ['a foreign lease id', 'team-b/x'],
  ['a guessed lease id', 'team-ab/x'],
])('%s is refused in every call that takes it, before any engine is called', async (_title, name) => {
  const leaseId = encodeLeaseId({
    resource: { service: 'lock', name },
    requestId: UUID_V4,
    secret: 'A'.repeat(22),
  });
  const client = locks();
  const metadata = metadataOf('team-a');
  expectNotAllowed(await failureOf(call(client, client.releaseLock, { leaseId }, { metadata })));
  const renewal = { leaseId, ttl: undefined, metadataUpdate: undefined };
  expectNotAllowed(await failureOf(call(client, client.renewLock, renewal, { metadata })));
  const stream = client.holdLock({ start: { $case: 'leaseId', value: leaseId } }, metadata);
  expectNotAllowed(await endOf(stream));
  expect(engineCalls()).toEqual([]);
});

test('a malformed lease id, and the lease id of the other service, get INVALID_FIELD as without a policy', async () => {
  harness.permits.failWith(new HoldfastError('INVALID_FIELD', 'lease_id is malformed'));
  const client = locks();
  const metadata = metadataOf('team-a');
  const resource = { service: 'semaphore', name: 'team-b/x' } as const;
  const other = encodeLeaseId({ resource, requestId: UUID_V4, secret: 'A'.repeat(22) });
  for (const leaseId of ['', 'guess', other]) {
    const error = await failureOf(call(client, client.releaseLock, { leaseId }, { metadata }));
    expect(error.code).toBe(status.INVALID_ARGUMENT);
  }
});

test('names that only resemble the names of the team are refused', async () => {
  const names = [
    '',
    'team-a',
    'team-ab/x',
    'TEAM-A/x',
    'team-a\u0301/x',
    ' team-a/x',
    'team-\u0430/x',
    '*',
    '../team-a/x',
  ];
  for (const name of [...names, '__proto__', 'constructor', 'x'.repeat(20_000), '\u001b[31mteam-a/']) {
    expectNotAllowed(await failureOf(acquire('team-a', name)));
  }
  expect(engineCalls()).toEqual([]);
  await acquire('team-a', 'team-a/../team-b/x');
  await acquire('team-a', 'team-a/*');
  expect(harness.permits.verbs).toEqual(['acquire', 'acquire']);
});

test('Suggest refuses the recents of another team, and SuggestStream continues after the refusal', async () => {
  const client = harness.completions();
  const metadata = metadataOf('team-a');
  const foreign = suggestRequest({ dictionary: 'team-a/towns', recentsList: 'team-b/bob' });
  expectNotAllowed(await failureOf(call(client, client.suggest, foreign, { metadata })));
  const stream = client.suggestStream(metadata);
  const answers: SuggestStreamResponse[] = [];
  stream.on('data', (answer: SuggestStreamResponse) => answers.push(answer));
  stream.write({ queryId: 1n, suggest: foreign });
  await until(() => answers.length === 1);
  expect(answers[0]?.result).toMatchObject({ $case: 'error', value: { code: status.PERMISSION_DENIED } });
  expect(engineCalls()).toEqual([]);
  stream.write({ queryId: 2n, suggest: suggestRequest({ dictionary: 'team-a/towns' }) });
  await until(() => answers.length === 2);
  expect(answers[1]?.result?.$case).toBe('suggestions');
  stream.end();
});

test.each(['ImportDictionary', 'SuggestStream'])(
  '%s ends NOT_ALLOWED before its first message if the caller has the permission for no name',
  async (method) => {
    const connection = new RawConnection(harness.target);
    const path = `/holdfast.v1.AutocompleteService/${method}`;
    const { outcome } = connection.open({ path, headers: { authorization: 'Bearer secret-of-nobody' } });
    expect(await outcome).toMatchObject({ code: status.PERMISSION_DENIED, reason: 'NOT_ALLOWED' });
    const { message } = await outcome;
    expect(message).toContain('for any dictionary or list; ask the operator');
    connection.close();
  },
);

test('a large PutEntries is checked by the dictionary that is decoded, also if the request names two', async () => {
  const { path } = AutocompleteServiceClient.service.putEntries;
  const message = (names: readonly string[]): Buffer => {
    const writer = new BinaryWriter();
    writer.uint32(10).string(names[0] as string);
    for (const one of entries(300)) Entry.encode(one, writer.uint32(18).fork()).join();
    for (const name of names.slice(1)) writer.uint32(10).string(name);
    return frame(writer.finish());
  };
  const connection = new RawConnection(harness.target);
  const headers = { authorization: 'Bearer secret-of-team-a' };
  const put = (names: readonly string[]) => connection.call({ path, body: message(names), headers });
  expect(await put(['team-a/towns', 'team-b/towns'])).toMatchObject({ reason: 'NOT_ALLOWED' });
  expect(engineCalls()).toEqual([]);
  expect((await put(['team-b/towns', 'team-a/towns'])).code).toBe(status.OK);
  expect(harness.autocomplete.calls[0]?.[1]).toBe('team-a/towns');
  connection.close();
});

test('initial_limit counts as unset without the permission to set limits', async () => {
  const client = harness.client(SemaphoreServiceClient);
  const request = AcquirePermitsRequest.create({ name: 'team-a/s', initialLimit: 3 });
  await call(client, client.acquirePermits, request, { metadata: metadataOf('team-a') });
  await call(client, client.acquirePermits, request, { metadata: metadataOf('ops') });
  const requests = harness.permits.calls.map(([, , acquire]) => acquire as { initialLimit?: number });
  expect(requests.map(({ initialLimit }) => initialLimit)).toEqual([undefined, 3]);
});

test('the engine hides holders from a caller that may use a name but not read it', async () => {
  const hides: boolean[] = [];
  harness.permits.answers.acquire = (engineCall) => {
    hides.push(engineCall.hidesHolders);
    return Promise.resolve(someLease);
  };
  await acquire('writer', 'team-a/x');
  await acquire('team-a', 'team-a/x');
  expect(hides).toEqual([true, false]);
});

test('a list shows the engine which names the caller may read', async () => {
  let readable: boolean[] = [];
  harness.autocomplete.answers.listDictionaries = (_prefix, _size, _token, reader: NameReader) => {
    readable = ['team-a/x', 'team-b/x'].map((name) => reader.mayRead(name));
    return Promise.resolve({ dictionaries: [], nextPageToken: '' });
  };
  const client = harness.completions();
  const request = { namePrefix: '', pageSize: 10, pageToken: '' };
  await call(client, client.listDictionaries, request, { metadata: metadataOf('team-a') });
  expect(readable).toEqual([true, false]);
});

/** Resolves to the error that ends a stream. */
function endOf(stream: NodeJS.ReadableStream): Promise<ServiceError> {
  stream.resume();
  return new Promise((resolve) => stream.on('error', (error: ServiceError) => resolve(error)));
}

test('a reload takes a permission away and gives it back', async () => {
  await acquire('team-a', 'team-a/x');
  await reload(RULES.slice(1));
  expectNotAllowed(await failureOf(acquire('team-a', 'team-a/x')));
  await reload(RULES);
  await acquire('team-a', 'team-a/x');
});

describe('a policy that cannot be used', () => {
  afterAll(() => reload(RULES));

  test.each([
    ['a misspelt verb', `${JSON.stringify({ rules: [{ ...teamRule('team-a'), allow: ['reed'] }] })}\n`],
    ['a policy without the line feed at its end', JSON.stringify({ rules: RULES })],
    ['an empty file', ''],
    // The log names a problem once, and this one is also that of a file without a line feed.
    ['half of a policy', JSON.stringify({ rules: RULES }).slice(0, 60)],
  ])('%s keeps the last good policy, and the log names the problem', async (_title, text) => {
    writeFileSync(policyFile, text);
    const warning = () =>
      harness.logged.find(({ message }) => message.startsWith('the policy could not be loaded'));
    await until(() => warning() !== undefined);
    expect(String(warning()?.fields['problem'])).toMatch(
      /HOLDFAST_POLICY: .*policy\.yaml is not a policy:\n {2}line 1/,
    );
    await acquire('team-a', 'team-a/x');
    expectNotAllowed(await failureOf(acquire('team-a', 'team-b/x')));
  });
});

function waitForEnd() {
  const calls: Call[] = [];
  const answers: (() => void)[] = [];
  harness.permits.answers.acquire = (engineCall) =>
    new Promise((resolve, reject) => {
      calls.push(engineCall);
      answers.push(() => resolve(someLease));
      engineCall.onCancelled(() => reject(new Error('the call is cancelled')));
    });
  return { calls, answerAll: () => answers.forEach((answer) => answer()) };
}

/** Opens calls of a caller, takes all permissions of the caller away, and tests what became of each call. */
describe('when a reload takes the permissions of a caller away,', () => {
  const metadata = metadataOf('team-a');
  let silentStream: Promise<ServiceError>;
  let idleStream: Promise<ServiceError>;
  let refusedWait: Promise<ServiceError>;
  let otherWait: Promise<unknown>;
  let waiting: ReturnType<typeof waitForEnd>;
  let endOfHold: Promise<ServiceError>;
  const holdEvents: unknown[] = [];
  let refusedImport: Promise<ServiceError>;
  let verbs: readonly unknown[];

  function openHold(): void {
    harness.permits.answers.hold = (engineCall, _service, _start, sink) =>
      new Promise((_resolve, reject) => {
        sink.send({ kind: 'granted', lease: someLease });
        engineCall.onNotAllowed(() => {
          sink.send({ kind: 'lost', cause: 'revoked' });
          reject(new HoldfastError('LEASE_LOST', 'the lease is revoked'));
        });
      });
    const value = acquireRequest({ name: 'team-a/x', requestId: UUID_V4 });
    const stream = harness
      .client(LockServiceClient)
      .holdLock({ start: { $case: 'acquire', value } }, metadata);
    stream.on('data', ({ holdEvent }: HoldLockResponse) => holdEvents.push(holdEvent?.event?.$case));
    endOfHold = endOf(stream);
  }

  beforeAll(async () => {
    const completions = harness.completions();
    silentStream = endOf(completions.suggestStream(metadata));
    await until(() => harness.openCalls === 1);
    harness.autocomplete.answers.suggest = () => Promise.resolve(onePage);
    const idle = completions.suggestStream(metadata);
    idleStream = endOf(idle);
    idle.write({ queryId: 1n, suggest: suggestRequest({ dictionary: 'team-a/towns' }) });
    waiting = waitForEnd();
    refusedWait = failureOf(acquire('team-a', 'team-a/x'));
    await until(() => waiting.calls.length === 1);
    otherWait = acquire('team-b', 'team-b/x');
    openHold();
    let importing: ReturnType<typeof completions.importDictionary> | undefined;
    refusedImport = new Promise((resolve) => {
      importing = completions.importDictionary(
        metadata,
        (failure: ServiceError | null, _: ImportDictionaryResponse) => failure && resolve(failure),
      );
    });
    importing?.on('error', () => undefined);
    importing?.write({ part: { $case: 'start', value: { dictionary: 'team-a/towns', profile: undefined } } });
    importing?.write({ part: batch([entry()]) });
    await until(() => waiting.calls.length === 2 && holdEvents.length === 1);
    await until(() => ['suggest', 'put'].every((verb) => harness.autocomplete.verbs.includes(verb)));
    await reload(RULES.slice(1));
    importing?.write({ part: commit(1) });
    await until(() => harness.autocomplete.verbs.includes('abandon'));
    await refusedImport;
    verbs = [...harness.autocomplete.verbs];
  });

  test('a SuggestStream without a query ends with NOT_ALLOWED', async () => {
    expectNotAllowed(await silentStream);
  });

  test('an idle SuggestStream ends with NOT_ALLOWED', async () => {
    expectNotAllowed(await idleStream);
  });

  test('a waiting call ends with NOT_ALLOWED, and the engine learns that the call has ended', async () => {
    expectNotAllowed(await refusedWait);
    await until(() => waiting.calls[0]?.cancelled === true);
    expect(waiting.calls[1]?.cancelled).toBe(false);
    waiting.answerAll();
    await otherWait;
    expect(harness.openCalls).toBe(0);
  });

  test('a hold stream gets lost with cause REVOKED, by the engine', async () => {
    expect([(await endOfHold).metadata.get('holdfast-reason'), holdEvents]).toEqual([
      ['LEASE_LOST'],
      ['granted', 'lost'],
    ]);
  });

  test('an import ends with NOT_ALLOWED, and is abandoned', async () => {
    expectNotAllowed(await refusedImport);
    expect(verbs).not.toContain('commit');
  });
});

test('calls never reach a foreign name while the policy is reloaded', async () => {
  let running = true;
  const outcomes = { refused: 0, done: 0 };
  const worker = async (): Promise<void> => {
    const client = locks();
    const metadata = metadataOf('team-a');
    while (running) {
      await call(client, client.acquireLock, acquireRequest({ name: 'team-a/x' }), { metadata });
      outcomes.done += 1;
      const foreign = call(client, client.acquireLock, acquireRequest({ name: 'team-b/x' }), { metadata });
      expectNotAllowed(await failureOf(foreign));
      outcomes.refused += 1;
    }
  };
  const workers = [worker(), worker(), worker()];
  for (let round = 0; round < 2; round++) await reload([...RULES, teamRule(`more-${round}`)]);
  running = false;
  await Promise.all(workers);
  expect(Math.min(outcomes.refused, outcomes.done)).toBeGreaterThan(3);
  expect(
    harness.permits.calls.every((one) => JSON.stringify(one[2] ?? one[1]).includes('team-b') === false),
  ).toBe(true);
});
