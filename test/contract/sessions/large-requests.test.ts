import { BinaryWriter } from '@bufbuild/protobuf/wire';
import { Metadata, status } from '@grpc/grpc-js';
import {
  OpenSessionRequest,
  SessionCommand,
  SessionServiceClient,
  SessionServiceService,
  type OpenSessionResponse,
} from '../../../generated/typescript/holdfast/v1/session_service';
import type { AcquireRequest } from '../../../src/leases/lease-requests';
import { lock } from '../../support/clients/session-stream';
import { Harness } from '../harness';
import { frame, RawConnection } from '../raw-call';
import { callSession, sessionStart } from '../session-calls';
import { ConversationFixture } from './conversation-fixture';

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
