import { expireOffsetMs } from '../../../src/leases/lease';
import { ms } from '../../support/clients/lease-client';
import { lock } from '../../support/clients/session-stream';
import { ConversationFixture } from './conversation-fixture';

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
  const granted = one.events.flatMap(({ event }) => (event?.$case === 'granted' ? [event.value.lease] : []));
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
