import { randomUUID } from 'node:crypto';
import { type ServiceError, status } from '@grpc/grpc-js';
import { holdfastError } from '../../clients/typescript';
import { decodeStatusDetails } from '../../clients/typescript/status-details';
import {
  AutocompleteServiceService,
  type SuggestStreamResponse,
} from '../../generated/typescript/holdfast/v1/autocomplete_service';
import { type PolicyRule, SERVICES, VERBS } from '../../src/access/policy';
import { entryQuotaExceeded } from '../../src/autocomplete/autocomplete-errors';
import type { Writer } from '../../src/autocomplete/quota/amount';
import type { Quotas } from '../../src/base/accounts';
import { HoldfastError } from '../../src/base/errors';
import { SessionStream } from '../support/clients/session-stream';
import { eventually } from '../support/eventually';
import {
  autocompleteCalls,
  type AutocompleteCalls,
  batch,
  commit,
  entry,
  ImportCall,
  start,
  suggestRequest,
} from './autocomplete-calls';
import { contractCalls } from './contract-calls';
import { someLease, towns } from './fake-engines';
import { acquireRequest, call, drainStream, failureOf, Harness, RELOAD_MS, UUID_V4 } from './harness';
import { makeCall, metadataOf, type Method, startWithPolicy, writePolicy } from './policy-harness';
import { leaseOf } from './services';

/** Quotas of commands and streams, which the call wrapper counts, and the answers of all quotas. */

const reasonOf = (error: ServiceError) => error.metadata.get('holdfast-reason')[0];
const detailsOf = (error: ServiceError) =>
  decodeStatusDetails(error.metadata.get('grpc-status-details-bin')[0] as Buffer) ??
  fail('the error has no details');
const fail = (message: string): never => {
  throw new Error(message);
};
const until = (condition: () => boolean) =>
  eventually('the condition holds', () => Promise.resolve(condition()));

describe('every call of the contract except SuggestStream, from callers without any command left', () => {
  let harness: Harness;
  beforeAll(async () => {
    harness = await Harness.start({ access: { quotas: { commands_per_second: 0.001 } } });
    harness.permits.failWith(new HoldfastError('LEASE_NOT_HELD', 'no lease'));
  });
  afterAll(() => harness.close());

  /** The contract calls of Hold have a lease_id. */
  const keepsLease = (path: string) => /\/(Renew|Release|Hold)[^/]*$/.test(path);

  test.each(contractCalls(['SuggestStream']).map((one) => [one.path, one] as const))(
    '%s',
    async (path, one) => {
      const error = await one.failure(harness);
      expect(reasonOf(error)).toBe(keepsLease(path) ? 'LEASE_NOT_HELD' : 'QUOTA_EXCEEDED');
      if (!keepsLease(path)) expect(error.code).toBe(status.RESOURCE_EXHAUSTED);
    },
  );

  test('only the calls that keep or end a lease have reached an engine', () => {
    const { calls } = harness.permits;
    expect(new Set(harness.permits.verbs)).toEqual(new Set(['renew', 'release', 'hold']));
    expect(calls).toHaveLength(6);
    expect(harness.autocomplete.calls).toEqual([]);
  });
});

describe('a caller without authentication', () => {
  let harness: Harness;
  afterEach(() => harness.close());

  test('has the quotas of its connection', async () => {
    harness = await Harness.start({ access: { quotas: { commands_per_second: 2 } } });
    for (const client of [harness.locks(), harness.locks()]) {
      const acquire = () => call(client, client.acquireLock, acquireRequest({ name: 'x' }));
      await acquire();
      await acquire();
      const error = await failureOf(acquire());
      expect(error.details).toMatch(/^this connection sends more than its quota of 2 commands per second/);
      const { metadata, retryAfterMs } = detailsOf(error);
      expect(Object.fromEntries(metadata)).toEqual({ quota: 'commands_per_second', limit: '2' });
      expect(retryAfterMs).toBeGreaterThan(0);
      expect(retryAfterMs).toBeLessThanOrEqual(500);
    }
  });

  test('opens no more streams than the quota, except streams that attach, and may open another stream after one has ended', async () => {
    harness = await Harness.start({ access: { quotas: { streams: 1 } } });
    harness.permits.answers.hold = (engineCall) =>
      new Promise((resolve) => engineCall.onCancelled(() => resolve()));
    harness.permits.answers.watch = (engineCall) =>
      new Promise((resolve) => engineCall.onCancelled(() => resolve()));
    const client = harness.locks();
    const value = acquireRequest({ name: 'x', requestId: UUID_V4 });
    const acquire = () => client.holdLock({ start: { $case: 'acquire', value } });
    const first = acquire();
    first.on('error', () => undefined);
    await until(() => harness.permits.verbs.length === 1);
    for (const stream of [acquire(), client.watchLock({ name: 'x' })]) {
      const { error } = await drainStream<unknown>(stream as never);
      expect([
        reasonOf(error as ServiceError),
        Object.fromEntries(detailsOf(error as ServiceError).metadata),
      ]).toEqual(['QUOTA_EXCEEDED', { quota: 'streams', limit: '1' }]);
    }
    const attached = client.holdLock({ start: { $case: 'leaseId', value: leaseOf('lock').leaseId } });
    attached.on('error', () => undefined);
    await until(() => harness.permits.verbs.length === 2);
    attached.cancel();
    first.cancel();
    await eventually('another stream', async () => {
      const before = harness.permits.verbs.length;
      const next = client.watchLock({ name: 'x' });
      const ended = drainStream(next);
      const opened = await Promise.race([
        ended.then(() => false),
        until(() => harness.permits.verbs.length > before).then(() => true),
      ]);
      next.cancel();
      return opened;
    });
  });

  test('gets an error for a query of SuggestStream above the quota, and the stream continues', async () => {
    harness = await Harness.start({ access: { quotas: { commands_per_second: 2 } } });
    const stream = harness.completions().suggestStream();
    const answers: SuggestStreamResponse[] = [];
    stream.on('data', (answer: SuggestStreamResponse) => answers.push(answer));
    const ask = async (): Promise<string | undefined> => {
      const count = answers.length;
      stream.write({ queryId: BigInt(count + 1), suggest: suggestRequest({ dictionary: 'towns' }) });
      await until(() => answers.length > count);
      return answers[count]?.result?.$case;
    };
    // The stream itself is the first command.
    const first = [await ask(), await ask()];
    const refused = first.filter((kind) => kind === 'error').length;
    expect(refused).toBeGreaterThan(0);
    expect(harness.queryFailures('QUOTA_EXCEEDED')).toBe(refused);
    await eventually('an answer', async () => (await ask()) === 'suggestions');
    stream.on('error', () => undefined);
    stream.cancel();
  });
});

describe('a caller with an identity', () => {
  const everything = { services: [...SERVICES], names: [''], allow: [...VERBS] };
  const RULES = [{ ...everything, identities: ['token:*'] }];
  let harness: Harness;
  let policyFile: string;
  beforeAll(async () => {
    ({ harness, policyFile } = await startWithPolicy(['busy', 'calm', 'loud'], RULES, {
      access: { intervalMs: RELOAD_MS },
    }));
  });
  afterAll(() => harness.close());

  const acquire = (name: string) => {
    const client = harness.locks();
    return call(client, client.acquireLock, acquireRequest({ name: 'x' }), { metadata: metadataOf(name) });
  };
  async function setQuotas(name: string, quotas: Quotas): Promise<void> {
    const count = harness.logged.length;
    writePolicy(policyFile, RULES, [{ identities: [`token:${name}`], ...quotas }]);
    await until(() =>
      harness.logged.slice(count).some(({ message }) => message === 'loaded the policy again'),
    );
  }
  const setCommands = (perSecond: number, name = 'busy') =>
    setQuotas(name, { commands_per_second: perSecond });

  test('gets the quotas of a changed policy, over all its connections', async () => {
    harness.permits.answers.acquire = () => Promise.resolve(someLease);
    for (let count = 0; count < 5; count++) await acquire('busy');
    await setCommands(1);
    const outcomes = await Promise.allSettled(Array.from({ length: 10 }, () => acquire('busy')));
    expect(outcomes.filter(({ status: end }) => end === 'rejected').length).toBeGreaterThan(0);
    await acquire('calm');
    await acquire('calm');
    await setCommands(1_000_000);
    await acquire('busy');
    await acquire('busy');
  });

  test('opens no more sessions than the quota, except the next session of a process, and may open another session after one has ended', async () => {
    await setQuotas('calm', { sessions: 1 });
    const sessionOf = (clientId: string) =>
      new SessionStream(harness.target, { start: { clientId }, metadata: metadataOf('calm') });
    const first = sessionOf(UUID_V4);
    await until(() => first.responses.length > 0);
    expect(await sessionOf(randomUUID()).ending).toMatchObject({
      reason: 'QUOTA_EXCEEDED',
      text: 'token:calm has reached its quota of 1 open sessions on this server: nothing was done; end a session, or ask the operator for a higher quota [QUOTA_EXCEEDED]',
      metadata: { quota: 'sessions', limit: '1' },
    });
    const next = sessionOf(UUID_V4);
    await until(() => next.responses.length > 0);
    first.close();
    next.close();
    await eventually('another session', async () => {
      const other = sessionOf(randomUUID());
      const opened = await Promise.race([
        other.ending.then(() => false),
        until(() => other.responses.length > 0).then(() => true),
      ]);
      other.close();
      return opened;
    });
  });

  test('has a line in the audit log for a refusal, with quota and limit', async () => {
    harness.audited.splice(0);
    await setCommands(2, 'loud');
    await eventually('a refusal', async () => {
      const outcomes = await Promise.allSettled(Array.from({ length: 5 }, () => acquire('loud')));
      return outcomes.some(({ status: end }) => end === 'rejected');
    });
    const line = harness.audited.find(({ fields }) => fields['quota'] === 'commands_per_second');
    expect(line?.fields).toEqual({
      identity: 'token:loud',
      peer: expect.stringMatching(/^127\.0\.0\.1:\d+$/) as string,
      method: '/holdfast.v1.LockService/AcquireLock',
      action: 'refused',
      outcome: 'QUOTA_EXCEEDED',
      quota: 'commands_per_second',
      limit: '2',
    });
  });
});

describe('entry quotas', () => {
  /** Who is charged for entries, and what a caller above its quota gets. */

  const [USED, ADDED] = [
    { entries: 8, bytes: 80 },
    { entries: 3, bytes: 30 },
  ];

  let harness: Harness;
  let calls: AutocompleteCalls;
  beforeAll(async () => {
    harness = await Harness.start();
    calls = autocompleteCalls(harness);
  });
  beforeEach(() => harness.autocomplete.reset());
  afterAll(() => harness.close());

  test('the engine gets the identity of the caller of CreateDictionary, PutEntries and ImportDictionary', async () => {
    const rule: PolicyRule = {
      identities: ['token:alice'],
      services: ['AutocompleteService'],
      names: [''],
      allow: ['import'],
    };
    const { harness: guarded } = await startWithPolicy(['alice'], [rule]);
    const writers: string[] = [];
    const note = ({ identity }: Writer) => void writers.push(identity);
    const { answers } = guarded.autocomplete;
    answers.createDictionary = (_name, _profile, writer) =>
      Promise.resolve(towns).finally(() => note(writer));
    answers.putEntries = (_name, _entries, writer) => Promise.resolve(note(writer));
    answers.startImport = (_name, _profile, writer) =>
      Promise.resolve(guarded.importSession.engine).finally(() => note(writer));
    const client = guarded.completions();
    const { createDictionary, putEntries, importDictionary } = AutocompleteServiceService;
    await makeCall(client, createDictionary as Method, [{ dictionary: 'towns' }], metadataOf('alice'));
    await makeCall(
      client,
      putEntries as Method,
      [{ dictionary: 'towns', entries: [entry()] }],
      metadataOf('alice'),
    );
    await makeCall(
      client,
      importDictionary as Method,
      [{ part: start }, { part: commit(0) }],
      metadataOf('alice'),
    );
    expect(writers).toEqual(Array(3).fill('token:alice'));
    await guarded.close();
  });

  test.each(['entries', 'bytes'] as const)(
    'a put above the quota of %s gets RESOURCE_EXHAUSTED with the quota, its limit and a delay',
    async (quota) => {
      const writer = { identity: 'token:alice', quotas: { [quota]: 10 } };
      harness.autocomplete.failWith(entryQuotaExceeded(writer, quota, USED, ADDED, undefined));
      const failure = await failureOf(calls.putEntries({ entries: [entry()] }));
      expect(failure.code).toBe(status.RESOURCE_EXHAUSTED);
      expect(failure.details).toContain(`the quota is 10 ${quota}, and nothing was changed;`);
      const error = holdfastError(failure);
      expect(error).toMatchObject({ reason: 'QUOTA_EXCEEDED', retryAfterMs: 1000 });
      expect(Object.fromEntries(error?.metadata ?? [])).toEqual({ quota, limit: '10' });
    },
  );

  test('an import with a batch above the quota is abandoned, and gets the error of the batch', async () => {
    const writer = { identity: 'token:alice', quotas: { entries: 10 } };
    harness.importSession.answers.put = () =>
      Promise.reject(entryQuotaExceeded(writer, 'entries', USED, ADDED, undefined));
    const importing = new ImportCall(harness.completions()).all(start, batch([entry()]), commit(1));
    expect(holdfastError(await failureOf(importing))).toMatchObject({ reason: 'QUOTA_EXCEEDED' });
    expect(harness.autocomplete.verbs).toEqual(['startImport', 'put', 'abandon']);
  });
});
