import { randomUUID } from 'node:crypto';
import type {
  OpenSessionRequest,
  SessionStart,
} from '../../../generated/typescript/holdfast/v1/session_service';
import type { AcquireRequest } from '../../../src/leases/lease-requests';
import { ConversationFixture } from '../../contract/sessions/conversation-fixture';
import { ms } from '../../support/clients/lease-client';
import { lock } from '../../support/clients/session-stream';

describe('the start of a session', () => {
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
    [
      'a client_id of another version',
      { start: start({ clientId: '3f2504e0-4f89-11d3-9a0c-0305e82c3301' }) },
    ],
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
});

describe('heartbeats', () => {
  /** The heartbeats of a session, and silence, on a manual clock. */

  const TIMEOUT_MS = 15_000;
  let one: ConversationFixture;
  beforeEach(async () => {
    one = new ConversationFixture();
    await one.start();
  });
  afterEach(() => one.close());

  const deliver = async (heartbeatId: bigint): Promise<void> => {
    one.stream.deliver({ heartbeatId });
    await one.turns();
  };

  test('each heartbeat is answered with its id, and a message without a heartbeat is not', async () => {
    await one.heartbeat();
    await one.heartbeat();
    await deliver(0n);
    expect(one.stream.sent.map(({ heartbeatId }) => heartbeatId)).toEqual([1n, 2n, 3n]);
    expect(one.stream.sent.map(({ started }) => started !== undefined)).toEqual([true, false, false]);
  });

  test('heartbeats that arrive together get one answer, with the latest id', async () => {
    for (const heartbeatId of [2n, 3n, 7n]) one.stream.deliver({ heartbeatId });
    await one.turns();
    expect(one.stream.sent.map(({ heartbeatId }) => heartbeatId)).toEqual([1n, 7n]);
  });

  test.each([
    ['is repeated', 1n],
    ['goes back', -1n],
    ['is the smallest number', -(2n ** 63n)],
    ['is above the exact numbers', 2n ** 53n],
    ['is the largest number', 2n ** 63n - 1n],
  ])('a heartbeat that %s ends the session, and gets no answer', async (_, heartbeatId) => {
    await deliver(heartbeatId);
    expect(one.status).toBe('INVALID_FIELD');
    expect(one.stream.sent.map((message) => message.heartbeatId)).toEqual([1n]);
  });

  test('a heartbeat with a much greater id counts, and after this heartbeat only greater ids count', async () => {
    await deliver(2n ** 53n - 1n);
    expect(one.stream.sent.at(-1)?.heartbeatId).toBe(2n ** 53n - 1n);
    await deliver(3n);
    expect(one.status).toBe('INVALID_FIELD');
  });

  test('a session without a heartbeat ends after heartbeat_timeout, and its leases continue', async () => {
    await one.hold(3);
    await one.clock.advance(TIMEOUT_MS - 1);
    expect(one.status).toBeUndefined();
    await one.clock.advance(1);
    await one.turns();
    expect(one.status).toBe('SESSION_SILENT');
    expect([one.engine.abandonedCount, one.engine.releaseCount]).toEqual([3, 0]);
    expect(one.sessions.size).toBe(0);
    expect(one.clock.timerCount).toBe(0);
  });

  test('each heartbeat starts heartbeat_timeout anew, and commands do not', async () => {
    await one.clock.advance(TIMEOUT_MS - 1);
    await one.heartbeat();
    await one.clock.advance(TIMEOUT_MS - 1);
    await one.run(undefined);
    expect(one.status).toBeUndefined();
    await one.clock.advance(1);
    await one.turns();
    expect(one.status).toBe('SESSION_SILENT');
  });

  test('a server that was suspended reads the heartbeats that have arrived, and ends no session', async () => {
    await one.clock.jump(10 * TIMEOUT_MS);
    await one.heartbeat();
    await one.clock.advance(TIMEOUT_MS - 1);
    expect(one.status).toBeUndefined();
  });

  test('a session without a first message ends with SESSION_SILENT after heartbeat_timeout', async () => {
    const silent = new ConversationFixture();
    await silent.clock.advance(TIMEOUT_MS);
    await silent.turns();
    expect(silent.status).toBe('SESSION_SILENT');
    expect(silent.clock.timerCount).toBe(0);
  });

  test('the session of a client that does not read ends with SESSION_SILENT, although its heartbeats arrive', async () => {
    one.stream.reads = false;
    for (let time = 0; time < 2 * TIMEOUT_MS; time += 5000) {
      await one.heartbeat();
      await one.clock.advance(5000);
    }
    await one.turns();
    expect(one.status).toBe('SESSION_SILENT');
  });

  test('a client that reads slowly keeps its session', async () => {
    for (let time = 0; time < 4 * TIMEOUT_MS; time += 5000) {
      one.stream.reads = false;
      await one.heartbeat();
      await one.clock.advance(5000);
      one.stream.read();
      await one.turns();
    }
    expect(one.status).toBeUndefined();
  });
});

describe('a drain', () => {
  /** A server that drains, on a manual clock. */

  let one: ConversationFixture;
  beforeEach(async () => {
    one = new ConversationFixture();
    await one.start();
  });
  afterEach(() => one.close());

  test('a draining server asks its sessions to leave after a random part of a second, and continues to serve them', async () => {
    await one.hold();
    void one.sessions.drain(10_000);
    await one.turns();
    expect(ms(one.stream.sent.at(-1)?.leaving?.retryDelay)).toBe(500);
    await one.run(lock('late'));
    await one.heartbeat();
    expect([one.engine.takes.length, one.status]).toEqual([1, undefined]);
    expect(one.stream.sent.filter(({ leaving }) => leaving !== undefined)).toHaveLength(1);
  });

  test('a session without leases and commands ends immediately with DRAINING', async () => {
    await one.sessions.drain(10_000);
    await one.turns();
    expect(one.status).toBe('DRAINING');
  });

  test('a session ends with DRAINING when its last lease has moved', async () => {
    await one.hold(2);
    const drained = one.sessions.drain(10_000);
    for (const { owner } of one.held) {
      expect(one.status).toBeUndefined();
      owner.end(undefined);
      await one.turns();
    }
    expect(one.status).toBe('DRAINING');
    await drained;
  });

  test('a session that keeps its leases ends with DRAINING after the given time, and the leases continue', async () => {
    await one.hold(2);
    const drained = one.sessions.drain(2000);
    await one.turns();
    expect(ms(one.stream.sent.at(-1)?.leaving?.retryDelay)).toBe(250);
    await one.clock.advance(2000);
    await one.turns();
    await drained;
    expect([one.status, one.engine.abandonedCount, one.engine.releaseCount]).toEqual(['DRAINING', 2, 0]);
    expect(one.clock.timerCount).toBe(0);
  });

  test('the events before the end of a session are sent before its status', async () => {
    await one.hold();
    void one.sessions.drain(10_000);
    one.held[0]?.owner.send({ kind: 'lost', cause: 'expired' });
    one.held[0]?.owner.end(undefined);
    await one.turns();
    expect([one.events.at(-1)?.event?.$case, one.status]).toEqual(['ended', 'DRAINING']);
  });
});
