import { Worker } from 'node:worker_threads';
import { status } from '@grpc/grpc-js';
import fc from 'fast-check';
import {
  AutocompleteServiceService as service,
  Entry,
  ImportDictionaryRequest,
  PutEntriesRequest,
} from '../../generated/typescript/holdfast/v1/autocomplete_service';
import { decodeStatusDetails } from '../../clients/typescript/status-details';
import { systemClock } from '../../src/base/clock';
import { EntryRequests } from '../../src/autocomplete/service/large-requests';
import { UndecodedMessage } from '../../src/rpc/decoding';
import { commit, start } from './autocomplete-calls';
import { towns } from './fake-engines';
import { Harness } from './harness';
import { frame, RawConnection, type RawOutcome } from './raw-call';

/**
 * A thread decodes and checks messages above 4 KiB or 256 fields. A field that the server does not know makes any
 * message large, so each test sends the same entries in a small and in a large message.
 */

let harness: Harness;
let connection: RawConnection;
beforeAll(async () => {
  harness = await Harness.start();
  const loaded = { ...towns, feedBytes: 0, index: { loadState: 'ready', memoryBytes: 0 } as const };
  harness.importSession.answers.commit = () => Promise.resolve(loaded);
  connection = new RawConnection(harness.target);
});
beforeEach(() => harness.autocomplete.reset());
afterAll(async () => {
  connection.close();
  await harness.close();
});

/** Field 14 with 20,000 bytes. */
const UNKNOWN_FIELD = Buffer.concat([Buffer.from([14 * 8 + 2, 0xa0, 0x9c, 0x01]), Buffer.alloc(20_000)]);

const enlarged = (message: Uint8Array) => Buffer.concat([message, UNKNOWN_FIELD]);
const imported = (part: ImportDictionaryRequest['part']) => ImportDictionaryRequest.encode({ part }).finish();

const put = (message: Uint8Array) => connection.call({ path: service.putEntries.path, body: frame(message) });
const importAll = (...messages: Uint8Array[]) =>
  connection.call({
    path: service.importDictionary.path,
    body: Buffer.concat(messages.map((message) => frame(message))),
  });

/** What the client and the engine see of one call. */
async function effectOf(pending: Promise<RawOutcome>) {
  const { code, message, headers } = await pending;
  const details = Buffer.from(String(headers['grpc-status-details-bin'] ?? ''), 'base64');
  const { violations } = decodeStatusDetails(details) ?? { violations: [] };
  const calls = JSON.stringify(harness.autocomplete.calls);
  harness.autocomplete.reset();
  return { code, message, violations, calls };
}

/** Valid and invalid texts at the bounds of texts, of folded texts and of names. */
const text = fc.oneof(
  { weight: 6, arbitrary: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }) },
  fc.constantFrom(
    '',
    '\0',
    '\u{fffd}',
    'x'.repeat(512),
    'x'.repeat(513),
    '東'.repeat(170),
    '\ufdfa'.repeat(160),
  ),
);
const entry: fc.Arbitrary<Entry> = fc.record({
  entryId: text,
  text,
  aliases: fc.oneof(
    { weight: 4, arbitrary: fc.array(text, { maxLength: 3 }) },
    fc.constantFrom(['a', 'a'], Array<string>(16).fill('a'), Array<string>(17).fill('a')),
  ),
  weight: fc.oneof(fc.bigInt({ min: 0n, max: 2n ** 52n }), fc.constantFrom(-1n, 2n ** 52n, 2n ** 52n + 1n)),
  payload: fc.oneof(
    fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)),
    fc.constantFrom(Buffer.alloc(1024), Buffer.alloc(1025)),
  ),
});
const validEntry = fc
  .tuple(fc.string({ minLength: 1, maxLength: 9 }), fc.constantFrom('a', 'Åsa', '東京'))
  .map(([id, valid]) =>
    Entry.create({ entryId: Buffer.from(id).toString('hex'), text: valid, aliases: [valid] }),
  );
const entries = fc.oneof(
  fc.array(entry, { maxLength: 4 }),
  fc.array(validEntry, { maxLength: 40 }),
  fc.array(fc.oneof({ weight: 20, arbitrary: validEntry }, entry), { maxLength: 60, size: 'max' }),
);
const dictionary = fc.oneof({ weight: 5, arbitrary: fc.constant('towns') }, text);
const RUNS = { numRuns: 150 };

test('any large PutEntries has the effect and the violations of the same small request', async () => {
  await fc.assert(
    fc.asyncProperty(dictionary, entries, async (name, list) => {
      const message = PutEntriesRequest.encode({ dictionary: name, entries: list }).finish();
      const small = await effectOf(put(message));
      expect(await effectOf(put(enlarged(message)))).toEqual(small);
    }),
    RUNS,
  );
});

test('any large batch of an import has the effect and the violations of the same small batch', async () => {
  await fc.assert(
    fc.asyncProperty(entries, async (list) => {
      const batch = imported({ $case: 'batch', value: { entries: list } });
      const end = imported(commit(list.length));
      const small = await effectOf(importAll(imported(start), batch, end));
      expect(await effectOf(importAll(imported(start), enlarged(batch), end))).toEqual(small);
    }),
    RUNS,
  );
});

test.each([
  ['a batch before the start', [imported({ $case: 'batch', value: { entries: [] } })]],
  ['a start with a bad name', [imported({ $case: 'start', value: { dictionary: '', profile: undefined } })]],
  ['two starts', [imported(start), imported(start)]],
  ['a message after the commit', [imported(start), imported(commit(0)), imported(start)]],
  ['a commit with a bad count', [imported(start), imported(commit(-1))]],
  ['a message without a part', [imported(start), Buffer.alloc(0)]],
  ['no entries', [imported(start), imported({ $case: 'batch', value: { entries: [] } })]],
  ['nothing but a start and a commit', [imported(start), imported(commit(0))]],
])(
  'an import of large messages after its first is answered like an import of small messages: %s',
  async (_title, [first, ...others]) => {
    const small = await effectOf(importAll(first!, ...others));
    expect(await effectOf(importAll(first!, ...others.map(enlarged)))).toEqual(small);
  },
);

test('1000 entries of a small message are put in their order', async () => {
  const list = Array.from({ length: 1000 }, (_, index) => Entry.create({ entryId: `${index}`, text: 'a' }));
  const message = PutEntriesRequest.encode({ dictionary: 'towns', entries: list }).finish();
  expect((await put(message)).code).toBe(status.OK);
  const [verb, name, stored] = harness.autocomplete.calls[0] as [string, string, { entryId: string }[]];
  expect([verb, name]).toEqual(['putEntries', 'towns']);
  expect(stored.map(({ entryId }) => entryId)).toEqual(list.map(({ entryId }) => entryId));
});

/** An alias with a length of 11 bytes: the framing has no error, but the generated code refuses the number. */
const BAD_WEIGHT = Buffer.from([0x12, 13, 0x20, ...Array<number>(11).fill(0xff), 0x01]);

test('a large message with a field that cannot be decoded ends the call with INTERNAL', async () => {
  expect((await put(BAD_WEIGHT)).code).toBe(status.INTERNAL);
  expect((await put(enlarged(BAD_WEIGHT))).code).toBe(status.INTERNAL);
  expect(harness.autocomplete.calls).toEqual([]);
  expect(harness.logged).toEqual([]);
});

test('a call fails with OVERLOADED if its thread ends, and the next call starts a new thread', async () => {
  const requests = new EntryRequests(systemClock);
  const list = [Entry.create({ entryId: 'nyc', text: 'New York' })];
  const message = () =>
    new UndecodedMessage(enlarged(PutEntriesRequest.encode({ dictionary: 'towns', entries: list }).finish()));
  try {
    const posts = jest.spyOn(Worker.prototype, 'postMessage');
    const failed = requests.putEntries(message());
    const [thread] = posts.mock.contexts as Worker[];
    posts.mockRestore();
    await thread?.terminate();
    await expect(failed).rejects.toMatchObject({ reason: 'OVERLOADED' });
    const { dictionary: name, entries: stored } = await requests.putEntries(message());
    expect([name, stored.map(({ entryId }) => entryId)]).toEqual(['towns', ['nyc']]);
  } finally {
    await requests.close();
  }
});
