import { BinaryWriter } from '@bufbuild/protobuf/wire';
import { Metadata, status } from '@grpc/grpc-js';
import fc from 'fast-check';
import type { LockMode } from '../../../generated/typescript/holdfast/v1/lease';
import {
  type SessionCommand as Command,
  OpenSessionRequest,
  type OpenSessionResponse,
  SessionCommand,
  SessionServiceClient,
  SessionServiceService,
  SessionStart,
} from '../../../generated/typescript/holdfast/v1/session_service';
import type { AcquireRequest } from '../../../src/leases/lease-requests';
import { readSessionRequest } from '../../../src/leases/service/session-request';
import { Harness } from '../../contract/harness';
import { frame, RawConnection } from '../../contract/raw-call';
import { callSession, sessionStart } from '../../contract/session-calls';
import { ConversationFixture } from '../../contract/sessions/conversation-fixture';
import { lock } from '../../support/clients/session-stream';
import { assertWithinTime } from '../../support/timed-property';

describe('session request', () => {
  /** Requests of sessions as bytes: the generated code says what they mean. */

  type Kind = NonNullable<Command['command']>;

  const text = fc.string({ unit: 'grapheme', maxLength: 20 });
  const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
  const int32 = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
  const optional = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined });
  const duration = optional(fc.record({ seconds: int64, nanos: int32 }));
  const metadata = fc.array(fc.tuple(text, text), { maxLength: 18 }).map((pairs) => new Map(pairs));
  const acquire = {
    name: text,
    ttl: duration,
    waitTimeout: duration,
    holderId: text,
    metadata,
    requestId: text,
  };

  /** An arbitrary of each kind. The compiler reports a kind that is missing. */
  const kinds: { readonly [Name in Kind['$case']]: fc.Arbitrary<Extract<Kind, { $case: Name }>['value']> } = {
    acquireLock: fc.record({ ...acquire, mode: int32.map((mode) => mode as LockMode) }),
    acquirePermits: fc.record({ ...acquire, permitCount: optional(int32), initialLimit: optional(int32) }),
    attach: fc.record({ leaseId: text }),
    release: fc.record({
      lease: fc.oneof(
        fc.constant(undefined),
        int64.map((value) => ({ $case: 'leaseNumber' as const, value })),
        text.map((value) => ({ $case: 'leaseId' as const, value })),
      ),
    }),
    update: fc.record({ leaseNumber: int64, metadataUpdate: optional(fc.record({ entries: metadata })) }),
    cancel: fc.record({ commandId: int64 }),
  };
  const kind = fc.oneof(
    fc.constant(undefined),
    ...Object.entries(kinds).map(([$case, values]) =>
      (values as fc.Arbitrary<unknown>).map((value) => ({ $case, value }) as Kind),
    ),
  );
  const command: fc.Arbitrary<Command> = fc.record({ commandId: int64, command: kind });
  const request: fc.Arbitrary<OpenSessionRequest> = fc.record({
    start: optional(fc.record({ clientId: text, sessionNumber: int64, holderId: text, metadata })),
    heartbeatId: int64,
    commands: fc.array(command, { maxLength: 12 }),
  });

  /** The whole request. Undefined: the server refuses the request, or ends the session at one of its commands. */
  function read(bytes: Uint8Array): OpenSessionRequest | undefined {
    try {
      const { start, heartbeatId, commands } = readSessionRequest(Buffer.from(bytes));
      const decoded = commands.map((one) => one.decode());
      return decoded.includes(undefined)
        ? undefined
        : { start, heartbeatId, commands: decoded as OpenSessionRequest['commands'] };
    } catch {
      return undefined;
    }
  }

  function generated(bytes: Uint8Array): OpenSessionRequest | undefined {
    try {
      return OpenSessionRequest.decode(bytes);
    } catch {
      return undefined;
    }
  }

  /** A field that the server does not know, of any wire type of proto3. */
  const unknownField = fc.oneof(
    fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map((value) => writer(0).uint64(value).finish()),
    fc.constant(writer(1).fixed64(7n).finish()),
    fc.uint8Array({ maxLength: 9 }).map((value) => writer(2).bytes(value).finish()),
    fc.constant(writer(5).fixed32(7).finish()),
  );

  function writer(wireType: number): BinaryWriter {
    return new BinaryWriter().tag(1000, wireType);
  }

  /** The fields of messages one after the other: each message alone is valid, and so is the whole. */
  const joined = <Message>(encode: (message: Message) => Uint8Array, messages: fc.Arbitrary<Message>) =>
    fc
      .array(fc.oneof(messages.map(encode), unknownField), { minLength: 1, maxLength: 4 })
      .map((parts) => Buffer.concat(parts));
  const strangeCommand = joined((message) => SessionCommand.encode(message).finish(), command).map((bytes) =>
    new BinaryWriter().tag(3, 2).bytes(bytes).finish(),
  );
  const withoutStart = request.map((message) => ({ ...message, start: undefined }));
  const strangeRequest = fc
    .array(
      fc.oneof(
        strangeCommand,
        joined((message) => OpenSessionRequest.encode(message).finish(), withoutStart),
      ),
      { maxLength: 5 },
    )
    .map((parts) => Buffer.concat(parts));

  test('a request is read as by the generated code', () => {
    assertWithinTime(
      fc.property(request, (message) => {
        const bytes = OpenSessionRequest.encode(message).finish();
        expect(read(bytes)).toEqual(generated(bytes));
        expect(read(bytes)).toBeDefined();
      }),
    );
  });

  test('repeated fields, fields in any order and unknown fields are read as by the generated code', () => {
    assertWithinTime(
      fc.property(strangeRequest, (bytes) => {
        expect(generated(bytes)).toBeDefined();
        expect(read(bytes)).toEqual(generated(bytes));
      }),
    );
  });

  test('damaged and random bytes are refused, or read as by the generated code', () => {
    const damaged = fc
      .tuple(
        request,
        fc.array(fc.tuple(fc.nat(), fc.nat({ max: 255 })), { maxLength: 5 }),
        fc.nat({ max: 3 }),
      )
      .map(([message, changes, missing]) => {
        const buffer = Buffer.from(OpenSessionRequest.encode(message).finish());
        for (const [at, byte] of changes) if (buffer.length > 0) buffer[at % buffer.length] = byte;
        return buffer.subarray(0, buffer.length - missing);
      });
    let readCount = 0;
    let refusedCount = 0;
    assertWithinTime(
      fc.property(fc.oneof(damaged, fc.uint8Array({ maxLength: 40 })), (bytes) => {
        const message = read(bytes);
        if (message === undefined) refusedCount += 1;
        else readCount += 1;
        // The generated code also accepts messages with parts that do not end at their lengths.
        if (message !== undefined) expect(message).toEqual(generated(bytes));
      }),
    );
    expect(Math.min(readCount, refusedCount)).toBeGreaterThan(0);
  });

  test('no command of a full request is decoded when the request is read', () => {
    const decode = jest.spyOn(SessionCommand, 'decode');
    const commands = Array.from({ length: 1000 }, (_, index) => ({
      commandId: BigInt(index + 1),
      command: { $case: 'attach' as const, value: { leaseId: 'x'.repeat(1000) } },
    }));
    const bytes = OpenSessionRequest.encode({ start: undefined, heartbeatId: 2n, commands }).finish();
    const read = readSessionRequest(Buffer.from(bytes));
    expect([read.heartbeatId, read.commands.length, decode.mock.calls.length]).toEqual([2n, 1000, 0]);
    expect(read.commands.at(-1)?.decode()).toEqual(commands.at(-1));
    decode.mockRestore();
  });

  const start = new BinaryWriter()
    .tag(1, 2)
    .bytes(SessionStart.encode(SessionStart.create()).finish())
    .finish();
  const field = writer(0).uint32(1).finish();
  const inCommand = (content: Uint8Array) => new BinaryWriter().tag(3, 2).bytes(content).finish();

  test.each([
    ['two starts', Buffer.concat([start, start])],
    ['a group', new BinaryWriter().tag(1000, 3).tag(1000, 4).finish()],
    ['a group in a command', inCommand(new BinaryWriter().tag(1000, 3).tag(1000, 4).finish())],
    [
      'a number of a megabyte',
      Buffer.concat([writer(0).finish(), Buffer.alloc(2 ** 20, 0xff), Buffer.of(1)]),
    ],
    ['more fields than any client writes', Buffer.alloc(field.length * 16_385, field)],
    [
      'a command with more fields than any client writes',
      inCommand(Buffer.alloc(field.length * 16_384, field)),
    ],
    ['a command that is longer than the request', new BinaryWriter().tag(3, 2).uint32(10).finish()],
    ['a field that is longer than its command', inCommand(new BinaryWriter().tag(4, 2).uint32(10).finish())],
  ])('a request with %s is refused', (_title, bytes) => {
    expect(() => readSessionRequest(Buffer.from(bytes))).toThrow();
  });
});

describe('large requests', () => {
  /** Requests with large, malformed and unknown commands. */

  let one: ConversationFixture;
  beforeEach(async () => {
    one = new ConversationFixture();
    await one.start();
  });
  afterEach(() => one.close());

  const MIB = 2 ** 20;
  const { path } = SessionServiceService.openSession;

  /** 16 pairs of 4096 bytes in all. */
  const fullMetadata = new Map(
    Array.from({ length: 16 }, (_, index) => [`key-${index + 10}`, 'v'.repeat(250)]),
  );
  const fullLock = (name: string) => lock(name, { metadata: fullMetadata });

  /** Acquires of different locks, with almost 1 MiB in all. */
  function fullCommands(firstId = 1): SessionCommand[] {
    const bytes =
      SessionCommand.encode({ commandId: 1000n, command: fullLock('lock 1000') }).finish().length + 4;
    return Array.from({ length: Math.floor(MIB / bytes) - 1 }, (_, index) => ({
      commandId: BigInt(firstId + index),
      command: fullLock(`lock ${firstId + index}`),
    }));
  }

  const begun = (): AcquireRequest[] =>
    one.engine.takes.flatMap(({ start }) => (start.kind === 'acquire' ? [start.request] : []));
  const part = (fieldNumber: number, content: Uint8Array) =>
    new BinaryWriter().tag(fieldNumber, 2).bytes(content).finish();
  /** A request with one command of these fields. */
  const withCommand = (commandId: number, ...fields: Uint8Array[]) =>
    Buffer.from(part(3, Buffer.concat([new BinaryWriter().tag(1, 0).int64(commandId).finish(), ...fields])));
  const encoded = (commandId: number, command: SessionCommand['command']) =>
    part(3, SessionCommand.encode({ commandId: BigInt(commandId), command }).finish());
  /** An acquire_lock with a mode of more than 10 bytes: only the generated code finds the error. */
  const malformed = part(2, Buffer.concat([Buffer.of(0x38), Buffer.alloc(11, 0xff), Buffer.of(1)]));

  test('the heartbeat of a request of 1 MiB is answered before its commands have begun, and every command begins', async () => {
    const commands = fullCommands();
    one.stream.deliver({ heartbeatId: 2n, commands });
    await one.turns(2);
    expect(one.stream.sent.at(-1)?.heartbeatId).toBe(2n);
    expect(begun().length).toBeLessThanOrEqual(64);
    await one.turns();
    expect(begun().map(({ name }) => name)).toEqual(commands.map(({ commandId }) => `lock ${commandId}`));
    for (const { metadata } of begun()) expect(Object.entries(metadata)).toEqual([...fullMetadata]);
  });

  test('a stream is not read while a megabyte of commands has not begun', async () => {
    const [first, second] = [fullCommands(1), fullCommands(1001)];
    one.stream.deliver({ commands: first });
    expect(one.stream.isPaused()).toBe(false);
    one.stream.deliver({ commands: second });
    expect(one.stream.isPaused()).toBe(true);
    await one.turns();
    expect(one.stream.isPaused()).toBe(false);
    expect(begun()).toHaveLength(first.length + second.length);
  });

  test('the longest valid acquire is accepted', async () => {
    const name = 'n'.repeat(512);
    const first = await one.run(
      lock(name, {
        holderId: 'h'.repeat(256),
        metadata: fullMetadata,
        waitTimeout: { seconds: 315_576_000_000n, nanos: 999_999_999 },
      }),
    );
    expect(begun().map((request) => request.name)).toEqual([name]);
    expect(one.kinds(first)).toEqual([]);
  });

  test('a command above 8,192 bytes fails with INVALID_FIELD, and the session continues', async () => {
    const first = await one.run(lock('a'), lock('b', { name: 'n'.repeat(8192) }), lock('c'));
    expect(begun().map(({ name }) => name)).toEqual(['a', 'c']);
    expect(one.kinds(first + 1)).toEqual(['INVALID_FIELD']);
    const [failed] = one.events.flatMap(({ event }) => (event?.$case === 'failed' ? [event.value] : []));
    expect(failed?.violations).toEqual([
      {
        field: 'acquire_lock',
        description: expect.stringMatching(/^has 8\d\d\d bytes; at most 8192 are accepted$/) as string,
      },
    ]);
    expect(one.status).toBeUndefined();
  });

  test('an unknown kind of command above 8,192 bytes fails with NOT_IMPLEMENTED', async () => {
    one.stream.deliverBytes(withCommand(1, part(100, Buffer.alloc(20_000))));
    await one.turns();
    expect([one.kinds(1), one.status]).toEqual([['NOT_IMPLEMENTED'], undefined]);
  });

  test('a start above 8,192 bytes is refused, and opens no session', async () => {
    const other = new ConversationFixture();
    await other.start({ start: { ...sessionStart.start!, metadata: new Map([['key', 'x'.repeat(8192)]]) } });
    expect([other.status, other.sessions.size]).toEqual(['INVALID_FIELD', 0]);
    await other.close();
  });

  test('a malformed command ends the session with INTERNAL, and no later command begins', async () => {
    const before = encoded(1, lock('before'));
    const after = encoded(3, lock('after'));
    one.stream.deliverBytes(Buffer.concat([before, withCommand(2, malformed), after]));
    await one.turns();
    expect([one.status, begun().map(({ name }) => name)]).toEqual(['INTERNAL', ['before']]);
  });

  test.each<[string, Uint8Array]>([
    // An AcquireLockRequest that ends early: the generated code would read a second command_id from its rest.
    ['whose field ends early', part(2, Buffer.of(0, 0x08, 7))],
    ['that itself ends early after this', part(2, Buffer.of(0, 0, 0x78, 1))],
  ])('a command %s ends the session with INTERNAL', async (_title, field) => {
    one.stream.deliverBytes(withCommand(1, field));
    await one.turns();
    expect([one.status, begun()]).toEqual(['INTERNAL', []]);
  });

  describe('over gRPC', () => {
    let harness: Harness;
    let connection: RawConnection;
    beforeEach(async () => {
      harness = await Harness.start();
      connection = new RawConnection(harness.target);
    });
    afterEach(async () => {
      connection.close();
      await harness.close();
    });
    const first = frame(OpenSessionRequest.encode(sessionStart).finish());

    test('every command of a request of 1 MiB gets its lease', async () => {
      const client = harness.client(SessionServiceClient);
      const commands = fullCommands().flatMap(({ command }) => command ?? []);
      const { answers, error } = await callSession(client, commands, new Metadata());
      const granted = (answers as OpenSessionResponse[]).flatMap(({ events }) =>
        events.filter(({ event }) => event?.$case === 'granted'),
      );
      expect([error, granted.length]).toEqual([undefined, commands.length]);
    });

    test('a malformed command ends the stream with INTERNAL, and is no failure of the server', async () => {
      const body = Buffer.concat([first, frame(withCommand(1, malformed))]);
      expect((await connection.call({ path, body, halfClose: false })).code).toBe(status.INTERNAL);
      expect(harness.logged).toEqual([]);
    });
  });
});
