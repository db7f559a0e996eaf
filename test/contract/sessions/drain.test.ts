import { lock } from '../../support/clients/session-stream';
import { ms } from '../../support/clients/lease-client';
import { ConversationFixture } from './conversation-fixture';

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
