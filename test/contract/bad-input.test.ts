import { Worker } from 'node:worker_threads';
import { gzipSync } from 'node:zlib';
import { status } from '@grpc/grpc-js';
import fc from 'fast-check';
import { decodeStatusDetails } from '../../clients/typescript/status-details';
import {
  Entry,
  ImportDictionaryRequest,
  PutEntriesRequest,
  AutocompleteServiceService as service,
} from '../../generated/typescript/holdfast/v1/autocomplete_service';
import { AcquireLockRequest } from '../../generated/typescript/holdfast/v1/lock_service';
import { EntryRequests } from '../../src/autocomplete/service/large-requests';
import { systemClock } from '../../src/base/clock';
import { UndecodedMessage } from '../../src/rpc/decoding';
import { MAX_REQUEST_BYTES } from '../../src/rpc/entry/intake';
import { MAX_HEADER_BYTES } from '../../src/rpc/handlers';
import { commit, start } from './autocomplete-calls';
import { towns } from './fake-engines';
import { acquireRequest, call, Harness } from './harness';
import { frame, type RawCall, RawConnection, type RawOutcome } from './raw-call';
import { assertWithinTime } from '../support/timed-property';

describe('bad input', () => {
  const ACQUIRE = '/holdfast.v1.LockService/AcquireLock';
  const goodBody = frame(AcquireLockRequest.encode(acquireRequest()).finish());

  let harness: Harness;
  let connection: RawConnection;
  beforeAll(async () => {
    harness = await Harness.start();
    connection = new RawConnection(harness.target);
  });
  beforeEach(() => harness.permits.calls.splice(0));
  afterAll(async () => {
    connection.close();
    await harness.close();
  });
  afterEach(async () => {
    // A bad call must not break its connection: the next good call is answered.
    expect(await connection.call({ path: ACQUIRE, body: goodBody })).toMatchObject({ code: status.OK });
    expect(connection.closed).toBe(false);
    expect(harness.logged).toEqual([]);
  });

  interface BadCall extends Partial<RawCall> {
    readonly title: string;
    readonly code: status;
    /** Undefined for an error of the gRPC library. Such an error has no reason. */
    readonly reason?: string;
  }

  const gzip = { 'grpc-encoding': 'gzip' };
  const large = 'x'.repeat(MAX_HEADER_BYTES);

  const BAD_CALLS: readonly BadCall[] = [
    {
      title: 'a name of invalid UTF-8',
      body: frame(Buffer.from([10, 3, 0x61, 0xff, 0x62])),
      code: status.INVALID_ARGUMENT,
      reason: 'INVALID_FIELD',
    },
    {
      title: 'a name that ends inside a character',
      body: frame(Buffer.from([10, 3, 0x61, 0xe2, 0x82])),
      code: status.INVALID_ARGUMENT,
      reason: 'INVALID_FIELD',
    },
    { title: 'a truncated message', body: frame(Buffer.from([10, 50, 0x61])), code: status.INTERNAL },
    { title: 'bytes that are not a message', body: frame(Buffer.alloc(20, 0xff)), code: status.INTERNAL },
    {
      title: 'a message over 64 KiB',
      body: frame(Buffer.alloc(MAX_REQUEST_BYTES + 1)),
      code: status.RESOURCE_EXHAUSTED,
      reason: 'QUOTA_EXCEEDED',
    },
    {
      title: 'a frame header of 4 GiB',
      body: Buffer.from([0, 255, 255, 255, 255, 1, 2, 3]),
      code: status.RESOURCE_EXHAUSTED,
      reason: 'QUOTA_EXCEEDED',
    },
    {
      title: 'a body that is not gzip',
      headers: gzip,
      body: frame(Buffer.from('no gzip at all'), true),
      code: status.INTERNAL,
    },
    {
      title: 'a truncated gzip body',
      headers: gzip,
      body: frame(gzipSync(Buffer.alloc(1000)).subarray(0, 15), true),
      code: status.INTERNAL,
    },
    {
      title: 'a gzip body of more than 64 KiB unpacked',
      headers: gzip,
      body: frame(gzipSync(Buffer.alloc(MAX_REQUEST_BYTES + 1)), true),
      code: status.RESOURCE_EXHAUSTED,
    },
    {
      title: 'an unknown compression',
      headers: { 'grpc-encoding': 'zip' },
      body: frame(Buffer.from('x'), true),
      code: status.UNIMPLEMENTED,
    },
    { title: 'no message', body: Buffer.alloc(0), code: status.UNIMPLEMENTED },
    { title: 'two messages', body: Buffer.concat([goodBody, goodBody]), code: status.UNIMPLEMENTED },
    { title: 'an unknown method', path: '/holdfast.v1.LockService/StealLock', code: status.UNIMPLEMENTED },
    { title: 'an unknown service', path: '/holdfast.v2.LockService/AcquireLock', code: status.UNIMPLEMENTED },
    {
      title: 'large headers',
      headers: { 'x-note': large },
      code: status.RESOURCE_EXHAUSTED,
      reason: 'QUOTA_EXCEEDED',
    },
    {
      title: 'many small headers that are large together',
      headers: Object.fromEntries(
        Array.from({ length: 100 }, (_, index) => [`x-note-${index}`, 'x'.repeat(200)]),
      ),
      code: status.RESOURCE_EXHAUSTED,
      reason: 'QUOTA_EXCEEDED',
    },
    {
      title: 'large binary headers',
      headers: { 'x-note-bin': Buffer.from(large).toString('base64') },
      code: status.RESOURCE_EXHAUSTED,
      reason: 'QUOTA_EXCEEDED',
    },
    {
      title: 'large headers to a streaming method',
      path: '/holdfast.v1.LockService/HoldLock',
      headers: { 'x-note': large },
      code: status.RESOURCE_EXHAUSTED,
      reason: 'QUOTA_EXCEEDED',
    },
    { title: 'a malformed timeout', headers: { 'grpc-timeout': 'soon' }, code: status.INTERNAL },
  ];

  test.each(BAD_CALLS)(
    'a call with $title gets an error and does not reach the engine',
    async ({ code, reason, path = ACQUIRE, headers = {}, body = goodBody }) => {
      const outcome = await connection.call({ path, headers, body });
      expect(outcome).toMatchObject({ code, reason });
      expect(outcome.message.endsWith(']')).toBe(reason !== undefined);
      expect(harness.permits.calls).toEqual([]);
    },
  );

  test('the field checks read a message just below 64 KiB', async () => {
    const request = acquireRequest({ name: 'x'.repeat(MAX_REQUEST_BYTES - 10) });
    const body = frame(AcquireLockRequest.encode(request).finish());
    const outcome = await connection.call({ path: ACQUIRE, body });
    expect(outcome).toMatchObject({ code: status.INVALID_ARGUMENT, reason: 'INVALID_FIELD' });
  });

  test('a call with headers of half the bound is answered', async () => {
    const headers = { 'x-note': 'x'.repeat(MAX_HEADER_BYTES / 2) };
    expect(await connection.call({ path: ACQUIRE, headers, body: goodBody })).toMatchObject({
      code: status.OK,
    });
  });

  test('a call with a gzip body is answered', async () => {
    const body = frame(gzipSync(AcquireLockRequest.encode(acquireRequest()).finish()), true);
    expect(await connection.call({ path: ACQUIRE, headers: gzip, body })).toMatchObject({ code: status.OK });
  });

  test('a call with more headers than HTTP/2 allows ends without a status, and its connection stays open', async () => {
    const many = Array.from({ length: 400 }, (_, index) => [`x-note-${index}`, 'x']);
    const outcome = await connection.call({
      path: ACQUIRE,
      headers: Object.fromEntries(many),
      body: goodBody,
    });
    expect(outcome.code).toBeUndefined();
    expect(harness.permits.calls).toEqual([]);
  });

  test('a request that is not gRPC gets the HTTP status 415', async () => {
    const { headers } = await connection.call({ path: ACQUIRE, headers: { 'content-type': 'text/html' } });
    expect(headers[':status']).toBe(415);
  });

  test('each of 1000 concurrent bad calls on one connection gets an error', async () => {
    const bodies = BAD_CALLS.flatMap(({ body }) => (body && body.length < 1000 ? [body] : []));
    const calls = Array.from({ length: 1000 }, (_, index) =>
      connection.call({ path: ACQUIRE, body: bodies[index % bodies.length]! }),
    );
    for (const { code } of await Promise.all(calls)) expect(code).toBeGreaterThan(0);
  });

  test('another client is served while the connection of the bad calls is open', async () => {
    const client = harness.locks();
    const answer = await call(client, client.acquireLock, acquireRequest());
    expect(answer.lease?.name).toBe('hello');
  });
});

describe('large requests', () => {
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
  const imported = (part: ImportDictionaryRequest['part']) =>
    ImportDictionaryRequest.encode({ part }).finish();

  const put = (message: Uint8Array) =>
    connection.call({ path: service.putEntries.path, body: frame(message) });
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

  test('any large PutEntries has the effect and the violations of the same small request', async () => {
    await assertWithinTime(
      fc.asyncProperty(dictionary, entries, async (name, list) => {
        const message = PutEntriesRequest.encode({ dictionary: name, entries: list }).finish();
        const small = await effectOf(put(message));
        expect(await effectOf(put(enlarged(message)))).toEqual(small);
      }),
    );
  });

  test('any large batch of an import has the effect and the violations of the same small batch', async () => {
    await assertWithinTime(
      fc.asyncProperty(entries, async (list) => {
        const batch = imported({ $case: 'batch', value: { entries: list } });
        const end = imported(commit(list.length));
        const small = await effectOf(importAll(imported(start), batch, end));
        expect(await effectOf(importAll(imported(start), enlarged(batch), end))).toEqual(small);
      }),
    );
  });

  test.each([
    ['a batch before the start', [imported({ $case: 'batch', value: { entries: [] } })]],
    [
      'a start with a bad name',
      [imported({ $case: 'start', value: { dictionary: '', profile: undefined } })],
    ],
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
      new UndecodedMessage(
        enlarged(PutEntriesRequest.encode({ dictionary: 'towns', entries: list }).finish()),
      );
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
});
