import { ConversationFixture } from './conversation-fixture';

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
