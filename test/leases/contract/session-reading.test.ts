import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2';
import fc from 'fast-check';
import {
  OpenSessionRequest,
  SessionEndCause,
  SessionServiceService,
} from '../../../generated/typescript/holdfast/v1/session_service';
import { expireOffsetMs } from '../../../src/leases/lease';
import { Harness } from '../../contract/harness';
import { frame } from '../../contract/raw-call';
import { sessionStart } from '../../contract/session-calls';
import { ConversationFixture } from '../../contract/sessions/conversation-fixture';
import { CheckedOutbox, type OutboxStep } from '../../contract/sessions/outbox-model';
import { ms } from '../../support/clients/lease-client';
import { lock, release } from '../../support/clients/session-stream';
import { eventually } from '../../support/eventually';
import { assertWithinTime, HISTORIES } from '../../support/timed-property';

describe('reading a session', () => {
  /** How the server reads the messages of a session, on a manual clock. */

  let one: ConversationFixture;
  beforeEach(() => void (one = new ConversationFixture()));
  afterEach(() => one.close());

  test('the first offsets count from the receipt of the first message, and not from the earlier call', async () => {
    await one.clock.advance(4000);
    const receivedAt = one.clock.now();
    await one.start();
    await one.run(lock('hello'));
    const end = { sentAt: receivedAt, remainingMs: 30_000 };
    await one.engine.takes[0]?.grant(end);
    await one.turns();
    const granted = one.events.flatMap(({ event }) =>
      event?.$case === 'granted' ? [event.value.lease] : [],
    );
    expect(ms(granted[0]?.expireOffset)).toBeCloseTo(expireOffsetMs(receivedAt, end), 0);
  });

  test('the server reads the stream again after a slow client has read all messages', async () => {
    await one.start();
    await one.hold(1000);
    one.stream.reads = false;
    await one.heartbeat(); // The answer fills the stream.
    for (const { owner } of one.held) owner.send({ kind: 'released' });
    await one.heartbeat();
    const unread = await one.heartbeat();
    one.stream.read();
    await one.turns();
    expect(one.stream.sent.at(-1)?.heartbeatId).toBe(BigInt(unread));
  });

  test('nothing of a session begins after its first message was refused', async () => {
    one.stream.deliver({ heartbeatId: 1n });
    await one.turns();
    await one.start({ commands: [{ commandId: 1n, command: lock('hello') }] });
    expect(one.status).toBe('INVALID_FIELD');
    expect(one.sessions.size).toBe(0);
    expect(one.engine.takes).toEqual([]);
  });

  test('a burst of messages is read in several turns of the event loop', async () => {
    await one.start();
    for (let id = 2n; id <= 100n; id += 1n) one.stream.deliver({ heartbeatId: id });
    await one.turns(1);
    const first = Number(one.stream.sent.at(-1)?.heartbeatId);
    expect(first).toBeLessThan(50);
    await one.turns();
    expect(one.stream.sent.at(-1)?.heartbeatId).toBe(100n);
  });
});

describe('events that a client does not read', () => {
  /** A client of a session that reads nothing, on a real connection. */

  let harness: Harness;
  let connection: ClientHttp2Session;
  beforeEach(async () => {
    harness = await Harness.start({ sessionLimits: { heartbeatTimeoutMs: 300 } });
    connection = connect(`http://${harness.target}`).on('error', () => undefined);
  });
  afterEach(async () => {
    connection.destroy();
    await harness.close();
  });

  function open(): ClientHttp2Stream {
    const stream = connection.request({
      ':method': 'POST',
      ':path': SessionServiceService.openSession.path,
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    stream.on('error', () => undefined);
    send(stream, sessionStart);
    return stream;
  }

  function send(stream: ClientHttp2Stream, fields: Partial<OpenSessionRequest>): void {
    const message = { ...OpenSessionRequest.create(), ...fields };
    if (!stream.destroyed) stream.write(frame(OpenSessionRequest.encode(message).finish()));
  }

  /** Asks for more answers than the window of the stream takes. */
  function ask(stream: ClientHttp2Stream): void {
    const command = release(1_000_000);
    const commands = Array.from({ length: 900 }, (_, index) => ({ commandId: BigInt(index + 1), command }));
    send(stream, { commands });
  }

  function beat(stream: ClientHttp2Stream): NodeJS.Timeout {
    let id = 1n;
    return setInterval(() => send(stream, { heartbeatId: (id += 1n) }), 10);
  }

  test.each([
    ['and sends heartbeats', true],
    ['and has fallen silent', false],
  ])(
    'the stream of a client that reads nothing %s is reset, and other streams of the connection continue',
    async (_, beats) => {
      const [unread, other] = [open(), open()];
      other.resume();
      ask(unread);
      const timers = [beat(other), ...(beats ? [beat(unread)] : [])];
      try {
        await eventually('the end of the stream', () => unread.destroyed);
      } finally {
        timers.forEach((timer) => clearInterval(timer));
      }
      expect(unread.rstCode).toBe(constants.NGHTTP2_CANCEL);
      expect(other.destroyed).toBe(false);
    },
  );
});

describe('waiting events', () => {
  /** Events that wait for a client that reads slowly, and the causes of ends. */

  let one: ConversationFixture;
  beforeEach(async () => {
    one = new ConversationFixture();
    await one.start();
  });
  afterEach(() => one.close());

  const say = (position: number): void =>
    one.engine.takes[0]?.owner.send({
      kind: 'queued',
      requestId: '',
      position,
      waiterCount: 9,
      holder: undefined,
    });

  /** The client stops reading, and the answer to a heartbeat fills the stream. */
  async function stopReading(): Promise<void> {
    one.stream.reads = false;
    await one.heartbeat();
  }

  async function readOn(): Promise<void> {
    one.stream.read();
    await one.turns();
  }

  test('a client that reads slowly gets the latest position, once', async () => {
    await one.run(lock('a'));
    say(9);
    await one.turns();
    await stopReading();
    for (const position of [8, 7, 5]) say(position);
    await readOn();
    const positions = one.events.map(({ event }) => event?.$case === 'queued' && event.value.position);
    expect(positions).toEqual([9, 5]);
  });

  test('a position that was not sent is dropped when the grant comes', async () => {
    const first = await one.run(lock('a'));
    await stopReading();
    say(2);
    await one.engine.takes[0]?.grant({ sentAt: one.clock.now(), remainingMs: 30_000 });
    await readOn();
    expect(one.kinds(first)).toEqual(['granted']);
  });

  test.each([
    ['expired', SessionEndCause.SESSION_END_CAUSE_EXPIRED],
    ['revoked', SessionEndCause.SESSION_END_CAUSE_REVOKED],
    ['store-reset', SessionEndCause.SESSION_END_CAUSE_STORE_RESET],
    ['store-unavailable', SessionEndCause.SESSION_END_CAUSE_STORE_UNAVAILABLE],
  ] as const)('a lease that was lost as %s ends with that cause', async (cause, expected) => {
    await one.hold();
    one.held[0]?.owner.send({ kind: 'lost', cause });
    await one.turns();
    expect(one.events.at(-1)?.event).toEqual({ $case: 'ended', value: { cause: expected } });
  });
});

describe('the outbox of a session', () => {
  const steps = fc.array(
    fc.oneof(
      {
        weight: 8,
        arbitrary: fc.record({
          kind: fc.constant('say' as const),
          id: fc.integer({ min: 1, max: 4 }),
          choice: fc.nat(1000),
        }),
      },
      {
        weight: 4,
        arbitrary: fc.constantFrom<OutboxStep>(
          { kind: 'heartbeat' },
          { kind: 'stop-reading' },
          { kind: 'read' },
          { kind: 'turn' },
        ),
      },
    ),
    { maxLength: 60 },
  );

  async function live(life: readonly OutboxStep[]): Promise<void> {
    const checked = new CheckedOutbox();
    for (const step of life) await checked.step(step);
    await checked.finish();
  }

  const say = (choice: number) => ({ kind: 'say', id: 1, choice }) as const;

  test('a new ttl reaches a client that reads slowly, also after a failed renewal', async () => {
    await live([
      say(2),
      { kind: 'turn' },
      { kind: 'stop-reading' },
      { kind: 'heartbeat' },
      { kind: 'turn' },
      say(2),
      say(1),
    ]);
  });

  test('a client gets every event in order, with bounded memory, for any sequence of events, heartbeats and pauses of the reader', async () => {
    await assertWithinTime(fc.asyncProperty(steps, live), { weight: HISTORIES });
  });
});
