import { randomUUID } from 'node:crypto';
import type {
  OpenSessionRequest,
  SessionStart,
} from '../../../generated/typescript/holdfast/v1/session_service';
import type { AcquireRequest } from '../../../src/leases/lease-requests';
import { lock } from '../../support/clients/session-stream';
import { ConversationFixture } from './conversation-fixture';

/** The first message of a session, and ids that do not rise, on a manual clock. */

let one: ConversationFixture;
beforeEach(() => void (one = new ConversationFixture()));
afterEach(() => one.close());

const start = (fields: Partial<SessionStart> = {}): SessionStart => ({
  clientId: randomUUID(),
  sessionNumber: 1n,
  holderId: '',
  metadata: new Map(),
  ...fields,
});

test.each<[string, Partial<OpenSessionRequest>]>([
  ['no start', { start: undefined }],
  ['heartbeat 2', { heartbeatId: 2n }],
  ['no heartbeat', { heartbeatId: 0n }],
  ['no client_id', { start: start({ clientId: '' }) }],
  ['a client_id of another version', { start: start({ clientId: '3f2504e0-4f89-11d3-9a0c-0305e82c3301' }) }],
  ['session_number 0', { start: start({ sessionNumber: 0n }) }],
  ['a negative session_number', { start: start({ sessionNumber: -1n }) }],
  ['a session_number above its bound', { start: start({ sessionNumber: 2n ** 53n }) }],
  ['a holder_id above its bound', { start: start({ holderId: 'x'.repeat(257) }) }],
  ['metadata above their bytes', { start: start({ metadata: new Map([['key', 'x'.repeat(4096)]]) }) }],
  [
    'metadata above their pairs',
    { start: start({ metadata: new Map(Array.from({ length: 17 }, (_, i) => [`k${i}`, ''])) }) },
  ],
])('a first message with %s is refused, and opens no session', async (_, message) => {
  await one.start({ ...message, commands: [{ commandId: 1n, command: lock('hello') }] });
  expect(one.status).toBe('INVALID_FIELD');
  expect([one.sessions.size, one.engine.takes.length]).toEqual([0, 0]);
  expect(one.stream.sent).toEqual([]);
});

test('a later start ends the session', async () => {
  await one.start();
  one.stream.deliver({ start: start({ sessionNumber: 2n }), heartbeatId: 2n });
  await one.turns();
  expect(one.status).toBe('INVALID_FIELD');
});

test.each([
  ['zero', [0n]],
  ['negative', [-1n]],
  ['above its bound', [2n ** 53n]],
  ['repeated in a message', [1n, 1n]],
  ['falling in a message', [2n, 1n]],
])('a command_id that is %s ends the session, and no command of the message begins', async (_, ids) => {
  await one.start();
  one.stream.deliver({ commands: ids.map((commandId) => ({ commandId, command: lock('hello') })) });
  await one.turns();
  expect(one.status).toBe('INVALID_FIELD');
  expect(one.engine.takes).toEqual([]);
});

test('a command_id of an earlier message ends the session', async () => {
  await one.start();
  await one.run(lock('a'), lock('b'));
  one.stream.deliver({ commands: [{ commandId: 2n, command: lock('c') }] });
  await one.turns();
  expect(one.status).toBe('INVALID_FIELD');
  expect(one.engine.takes).toHaveLength(2);
});

test('holder_id and metadata of start fill the empty fields of an acquire, and no others', async () => {
  const metadata = new Map([['zone', 'a']]);
  await one.start({ start: start({ holderId: 'worker 7', metadata }) });
  await one.run(lock('a'), lock('b', { holderId: 'own', metadata: new Map([['own', '1']]) }));
  const requests = one.engine.takes.map((taken) => (taken.start as { request: AcquireRequest }).request);
  expect(requests.map(({ holderId }) => holderId)).toEqual(['worker 7', 'own']);
  expect(requests.map((request) => Object.entries(request.metadata))).toEqual([
    [['zone', 'a']],
    [['own', '1']],
  ]);
  expect(requests.map(({ waitTimeoutMs }) => waitTimeoutMs)).toEqual([undefined, undefined]);
});

test('an acquire needs a request_id', async () => {
  await one.start();
  const command = await one.run(lock('a', { requestId: '' }));
  expect(one.kinds(command)).toEqual(['INVALID_FIELD']);
  expect(one.engine.takes).toEqual([]);
});
