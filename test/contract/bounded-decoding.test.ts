import { status } from '@grpc/grpc-js';
import fc from 'fast-check';
import {
  AutocompleteServiceService as service,
  DeleteEntriesRequest,
  ImportDictionaryRequest,
  PutEntriesRequest,
  type Entry,
} from '../../generated/typescript/holdfast/v1/autocomplete_service';
import {
  OpenSessionRequest,
  SessionServiceService,
  SessionStart,
} from '../../generated/typescript/holdfast/v1/session_service';
import { decodeStatusDetails } from '../../clients/typescript/status-details';
import { requestDecoders } from '../../src/autocomplete/service/large-requests';
import { readSessionRequest } from '../../src/leases/service/session-request';
import { start } from './autocomplete-calls';
import { Harness, UUID_V4 } from './harness';
import { frame, RawConnection } from './raw-call';

/** The largest number of empty items that a message may have by its bytes, and not by the contract. */
const MOST_ENTRIES = 2_097_100;
const MOST_IDS = 524_200;

/** A field of a message: tag, length and content. */
function field(number: number, content: Buffer): Buffer {
  const length: number[] = [];
  for (let rest = content.length; ; rest >>>= 7) {
    if (rest < 0x80) return Buffer.concat([Buffer.from([number * 8 + 2, ...length, rest]), content]);
    length.push((rest & 0x7f) | 0x80);
  }
}

/** The same field `count` times. */
function repeated(number: number, count: number, content: Buffer = Buffer.alloc(0)): Buffer {
  const one = field(number, content);
  return Buffer.alloc(one.length * count, one);
}

const name = field(1, Buffer.from('towns'));
const id = field(1, Buffer.from('nyc'));
const text = field(2, Buffer.from('New York'));
const importStart = Buffer.from(ImportDictionaryRequest.encode({ part: start }).finish());
const manyAliases = Buffer.concat([id, text, repeated(3, 2_000_000)]);

describe('a request of 4 MiB with a list that is too long', () => {
  let harness: Harness;
  let connection: RawConnection;
  beforeAll(async () => {
    harness = await Harness.start();
    connection = new RawConnection(harness.target);
  });
  afterAll(async () => {
    connection.close();
    await harness.close();
  });

  test.each([
    ['PutEntries', 'entries', [Buffer.concat([name, repeated(2, MOST_ENTRIES)])]],
    [
      'PutEntries',
      'entries[1].aliases',
      [Buffer.concat([name, field(2, Buffer.concat([id, text])), field(2, manyAliases)])],
    ],
    ['DeleteEntries', 'entry_ids', [Buffer.concat([name, repeated(2, MOST_IDS)])]],
    ['ImportDictionary', 'batch.entries', [importStart, field(2, repeated(1, MOST_ENTRIES))]],
    ['ImportDictionary', 'batch.entries[0].aliases', [importStart, field(2, field(1, manyAliases))]],
  ])('answers INVALID_FIELD: %s %s', async (method, violated, messages) => {
    const outcome = await connection.call({
      path: `/holdfast.v1.AutocompleteService/${method}`,
      body: Buffer.concat(messages.map((message) => frame(message))),
      halfClose: method !== 'ImportDictionary',
    });
    expect(outcome).toMatchObject({ code: status.INVALID_ARGUMENT, reason: 'INVALID_FIELD' });
    const details = Buffer.from(String(outcome.headers['grpc-status-details-bin']), 'base64');
    expect(decodeStatusDetails(details)?.violations).toEqual([
      { field: violated, description: expect.stringContaining('more than') as string },
    ]);
  });

  test('gets an error without a reason for more fields than any client writes', async () => {
    const body = frame(Buffer.concat([name, field(2, repeated(5, 2_000_000))]));
    expect(await connection.call({ path: service.putEntries.path, body })).toMatchObject({
      code: status.INTERNAL,
      reason: undefined,
    });
  });
});

test('a list that is too long is decoded up to one item above its bound', () => {
  const put = requestDecoders.putEntries(Buffer.concat([name, repeated(2, MOST_ENTRIES)]));
  expect(put.entries).toHaveLength(1001);
  expect(put.dictionary).toBe('towns');
  expect(requestDecoders.deleteEntries(repeated(2, MOST_IDS)).entryIds).toHaveLength(1001);
  const { part } = requestDecoders.importDictionary(field(2, field(1, manyAliases)));
  expect(part?.$case === 'batch' && part.value.entries[0]?.aliases).toHaveLength(17);
});

test('a request of a session with half a million commands is decoded up to one command above the bound, and ends the session', async () => {
  const request = Buffer.concat([
    Buffer.from(
      OpenSessionRequest.encode({
        start: SessionStart.create({ clientId: UUID_V4, sessionNumber: 1n }),
        heartbeatId: 1n,
        commands: [],
      }).finish(),
    ),
    repeated(3, 524_000),
  ]);
  const { path } = SessionServiceService.openSession;
  expect(readSessionRequest(request).commands).toHaveLength(1001);
  const harness = await Harness.start();
  const connection = new RawConnection(harness.target);
  expect(await connection.call({ path, body: frame(request), halfClose: false })).toMatchObject({
    code: status.RESOURCE_EXHAUSTED,
    reason: 'QUOTA_EXCEEDED',
  });
  connection.close();
  await harness.close();
});

const bytes: fc.Arbitrary<Buffer> = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array));
const entries: fc.Arbitrary<Entry[]> = fc.array(
  fc.record({
    entryId: fc.string({ unit: 'grapheme' }),
    text: fc.string({ unit: 'grapheme', maxLength: 200 }),
    aliases: fc.array(fc.string({ unit: 'grapheme' }), { maxLength: 16 }),
    weight: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    payload: bytes,
  }),
  { maxLength: 60 },
);
const requests = {
  putEntries: fc
    .record({ dictionary: fc.string(), entries })
    .map((message) => PutEntriesRequest.encode(message).finish()),
  deleteEntries: fc
    .record({ dictionary: fc.string(), entryIds: fc.array(fc.string(), { maxLength: 1000 }) })
    .map((message) => DeleteEntriesRequest.encode(message).finish()),
  importDictionary: entries.map((list) =>
    ImportDictionaryRequest.encode({ part: { $case: 'batch', value: { entries: list } } }).finish(),
  ),
};
const METHODS = ['putEntries', 'deleteEntries', 'importDictionary'] as const;

/** The message, or the text of the decoder's error. */
function decoded(decode: (bytes: Buffer) => object, message: Buffer): object | string {
  try {
    return decode(message);
  } catch (error) {
    return String((error as Error).message);
  }
}

test.each(METHODS)('a valid message of %s is decoded as by the generated code', (method) => {
  fc.assert(
    fc.property(requests[method], (message) => {
      const buffer = Buffer.from(message);
      expect(requestDecoders[method](buffer)).toEqual(service[method].requestDeserialize(buffer));
    }),
  );
});

test.each(METHODS)('a damaged message of %s is refused, or decoded as by the generated code', (method) => {
  const damaged = fc
    .tuple(requests[method], fc.array(fc.tuple(fc.nat(), fc.nat({ max: 255 })), { maxLength: 5 }), fc.nat())
    .map(([message, changes, length]) => {
      const buffer = Buffer.from(message);
      for (const [at, byte] of changes) if (buffer.length > 0) buffer[at % buffer.length] = byte;
      return buffer.subarray(0, buffer.length - (length % 3));
    });
  fc.assert(
    fc.property(fc.oneof(damaged, bytes), (message) => {
      const buffer = Buffer.from(message);
      const bounded = decoded(requestDecoders[method], buffer);
      // The generated code also accepts some messages that are cut short.
      if (typeof bounded !== 'string') expect(bounded).toEqual(service[method].requestDeserialize(buffer));
    }),
    { numRuns: 1000 },
  );
});

test('fields that the server does not know do not change the decoded message', () => {
  const unknown = Buffer.concat([Buffer.from([0x78, 0x96, 0x01, 0x7d, 1, 2, 3, 4]), repeated(14, 3, text)]);
  const message = Buffer.concat([unknown, field(2, Buffer.concat([unknown, id, text])), unknown, name]);
  const { dictionary, entries: list } = requestDecoders.putEntries(message);
  expect([dictionary, list.map(({ entryId }) => entryId)]).toEqual(['towns', ['nyc']]);
});
