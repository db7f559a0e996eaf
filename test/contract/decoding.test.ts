import { gzipSync } from 'node:zlib';
import { status } from '@grpc/grpc-js';
import fc from 'fast-check';
import { decodeStatusDetails } from '../../clients/typescript/status-details';
import { HealthCheckRequest } from '../../generated/typescript/grpc/health/v1/health';
import { ServerReflectionRequest } from '../../generated/typescript/grpc/reflection/v1/reflection';
import {
  DeleteEntriesRequest,
  type Entry,
  ImportDictionaryRequest,
  PutEntriesRequest,
  AutocompleteServiceService as service,
  SuggestStreamRequest,
} from '../../generated/typescript/holdfast/v1/autocomplete_service';
import { HoldLockRequest } from '../../generated/typescript/holdfast/v1/lock_service';
import {
  OpenSessionRequest,
  SessionServiceService,
  SessionStart,
} from '../../generated/typescript/holdfast/v1/session_service';
import { requestDecoders } from '../../src/autocomplete/service/large-requests';
import { defaultAutocompleteLimits } from '../../src/autocomplete/suggestion';
import { readSessionRequest } from '../../src/leases/service/session-request';
import { eventually } from '../support/eventually';
import { start, suggestRequest } from './autocomplete-calls';
import { someLease } from './fake-engines';
import { Harness, UUID_V4 } from './harness';
import { frame, RawConnection, type RawOutcome } from './raw-call';
import { sessionStart } from './session-calls';
import { assertWithinTime } from '../support/timed-property';

describe('bounded decoding', () => {
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
    assertWithinTime(
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
    assertWithinTime(
      fc.property(fc.oneof(damaged, bytes), (message) => {
        const buffer = Buffer.from(message);
        const bounded = decoded(requestDecoders[method], buffer);
        // The generated code also accepts some messages that are cut short.
        if (typeof bounded !== 'string') expect(bounded).toEqual(service[method].requestDeserialize(buffer));
      }),
    );
  });

  test('fields that the server does not know do not change the decoded message', () => {
    const unknown = Buffer.concat([Buffer.from([0x78, 0x96, 0x01, 0x7d, 1, 2, 3, 4]), repeated(14, 3, text)]);
    const message = Buffer.concat([unknown, field(2, Buffer.concat([unknown, id, text])), unknown, name]);
    const { dictionary, entries: list } = requestDecoders.putEntries(message);
    expect([dictionary, list.map(({ entryId }) => entryId)]).toEqual(['towns', ['nyc']]);
  });
});

describe('undecodable', () => {
  /**
   * A client sends good messages, and then bytes that grpc-js cannot decode. grpc-js chooses the status when it reads
   * these bytes, while the handler is still answering the earlier messages. The call must end with this status.
   */

  interface StreamingCall {
    readonly path: string;
    /** A message that the call accepts as often as it comes. */
    readonly message: Buffer;
    /** Whether the server answers each message. Otherwise the answer comes after the client's half-close. */
    readonly answers: boolean;
    /** The status after two good messages, if the call reads only one. */
    readonly secondMessage?: status;
  }

  const CALLS: Readonly<Record<string, StreamingCall>> = {
    SuggestStream: {
      path: '/holdfast.v1.AutocompleteService/SuggestStream',
      message: SuggestStreamRequest.encode({ queryId: 1n, suggest: suggestRequest() }).finish() as Buffer,
      answers: true,
    },
    'SuggestStream with refused queries': {
      path: '/holdfast.v1.AutocompleteService/SuggestStream',
      message: SuggestStreamRequest.encode({ queryId: 1n, suggest: undefined }).finish() as Buffer,
      answers: true,
    },
    'reflection v1': {
      path: '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
      message: ServerReflectionRequest.encode({
        host: '',
        messageRequest: { $case: 'listServices', value: '' },
      }).finish() as Buffer,
      answers: true,
    },
    ImportDictionary: {
      path: '/holdfast.v1.AutocompleteService/ImportDictionary',
      message: ImportDictionaryRequest.encode({ part: start }).finish() as Buffer,
      answers: false,
      secondMessage: status.INVALID_ARGUMENT,
    },
    HoldLock: {
      path: '/holdfast.v1.LockService/HoldLock',
      message: HoldLockRequest.encode({
        start: { $case: 'leaseId', value: someLease.leaseId },
      }).finish() as Buffer,
      answers: false,
      secondMessage: status.UNIMPLEMENTED,
    },
    OpenSession: {
      path: '/holdfast.v1.SessionService/OpenSession',
      message: OpenSessionRequest.encode(sessionStart).finish() as Buffer,
      answers: false,
      secondMessage: status.INVALID_ARGUMENT,
    },
    'health Watch': {
      path: '/grpc.health.v1.Health/Watch',
      message: HealthCheckRequest.encode({ service: '' }).finish() as Buffer,
      answers: false,
      secondMessage: status.UNIMPLEMENTED,
    },
  };

  interface BadBytes {
    readonly bytes: Buffer;
    readonly code: status;
  }

  const BAD_BYTES: Readonly<Record<string, BadBytes>> = {
    'bytes that are not a message': { bytes: frame(Buffer.alloc(20, 0xff)), code: status.INTERNAL },
    'a frame header of 4 GiB': {
      bytes: Buffer.from([0, 255, 255, 255, 255, 1, 2, 3]),
      code: status.RESOURCE_EXHAUSTED,
    },
    'a truncated gzip body': {
      bytes: frame(gzipSync(Buffer.alloc(1000)).subarray(0, 15), true),
      code: status.INTERNAL,
    },
  };

  let harness: Harness;
  let connection: RawConnection;
  beforeAll(async () => {
    harness = await Harness.start({
      autocompleteLimits: { ...defaultAutocompleteLimits, maxSuggestStreams: 1, maxImports: 1 },
    });
  });
  beforeEach(() => {
    harness.permits.reset();
    harness.logged.splice(0);
    connection = new RawConnection(harness.target);
  });
  // The client closes no stream, and a connection may have 40 of them.
  afterEach(() => connection.close());
  afterAll(() => harness.close());

  /** One way to send the good messages and the bad bytes. */
  interface Sending {
    readonly goodCount: number;
    readonly afterAnswer: boolean;
    readonly compressed: boolean;
    readonly oneFrame: boolean;
  }

  const BOTH = [false, true];

  /** Without an answer nothing comes after one, and without a good message nothing is compressed or shares a frame. */
  function sendingsOf({ answers }: StreamingCall): readonly Sending[] {
    return [0, 1, 2, 3].flatMap((goodCount) => {
      const either = goodCount === 0 ? [false] : BOTH;
      return (answers ? BOTH : [false]).flatMap((afterAnswer) =>
        either.flatMap((compressed) =>
          either.map((oneFrame) => ({ goodCount, afterAnswer, compressed, oneFrame })),
        ),
      );
    });
  }

  async function send(
    { path, message }: StreamingCall,
    { goodCount, afterAnswer, compressed, oneFrame }: Sending,
    bad: Buffer,
  ): Promise<RawOutcome> {
    const stream = connection.open({ path, headers: { 'grpc-encoding': 'gzip' } });
    const good = compressed ? frame(gzipSync(message), true) : frame(message);
    if (afterAnswer) {
      stream.write(good);
      await eventually('the first answer', () => stream.receivedBytes > 0, { everyMs: 1 });
    } else {
      // The server reads a connection in order, so the answer to this call comes after the start of the stream.
      await connection.call({ path: '/grpc.health.v1.Health/Check', body: frame(Buffer.alloc(0)) });
    }
    const frames = [...Array.from({ length: goodCount }, () => good), bad];
    for (const bytes of oneFrame ? [Buffer.concat(frames)] : frames) stream.write(bytes);
    return stream.outcome;
  }

  const cases = Object.keys(CALLS).flatMap((name) =>
    Object.keys(BAD_BYTES).map((bad) => [name, bad] as const),
  );

  // At most one stream of a kind may be open, so a handler that does not end fails the next call.
  test.each(cases)('%s ends with a status after %s', async (name, bad) => {
    const { bytes, code } = BAD_BYTES[bad]!;
    const { secondMessage } = CALLS[name]!;
    for (const sending of sendingsOf(CALLS[name]!)) {
      const outcome = await eventuallyEnds(sending, send(CALLS[name]!, sending, bytes));
      const codes = sending.goodCount > 1 && secondMessage !== undefined ? [code, secondMessage] : [code];
      expect(codes).toContain(outcome.code);
    }
    expect(harness.logged).toEqual([]);
    expect(connection.closed).toBe(false);
  });

  test('a stream ends with DEADLINE_EXCEEDED if its handler writes at the deadline', async () => {
    harness.permits.answers.hold = (call, _service, _start, sink) => {
      let over = false;
      call.onCancelled(() => (over = true));
      const write = (): void => {
        if (over) return;
        for (let count = 0; count < 20; count++) sink.send({ kind: 'granted', lease: someLease });
        setImmediate(write);
      };
      write();
      return new Promise(() => undefined);
    };
    for (let round = 0; round < 5; round++) {
      const { path, message } = CALLS.HoldLock!;
      const pending = connection.call({ path, headers: { 'grpc-timeout': '20m' }, body: frame(message) });
      const outcome = await eventuallyEnds({}, pending);
      expect(outcome.code).toBe(status.DEADLINE_EXCEEDED);
    }
  });

  /** Rejects if the server does not end the call. */
  async function eventuallyEnds(call: object, outcome: Promise<RawOutcome>): Promise<RawOutcome> {
    let ended: RawOutcome | undefined;
    void outcome.then((end) => (ended = end));
    return eventually(`the end of the call after ${JSON.stringify(call)}`, () => ended, { everyMs: 1 });
  }
});
