import { status } from '@grpc/grpc-js';
import { AutocompleteServiceService } from '../../generated/typescript/holdfast/v1/autocomplete_service';
import { holdfastError } from '../../clients/typescript';
import { entryQuotaExceeded } from '../../src/autocomplete/autocomplete-errors';
import type { Writer } from '../../src/autocomplete/quota/amount';
import {
  autocompleteCalls,
  batch,
  commit,
  entry,
  ImportCall,
  start,
  type AutocompleteCalls,
} from './autocomplete-calls';
import type { PolicyRule } from '../../src/access/policy';
import { towns } from './fake-engines';
import { failureOf, Harness } from './harness';
import { makeCall, metadataOf, startWithPolicy, type Method } from './policy-harness';

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
  answers.createDictionary = (_name, _profile, writer) => Promise.resolve(towns).finally(() => note(writer));
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
