import { WaitGivenUp } from '../../../src/leases/attempt-errors';
import { attach, cancel, lock, permits, release } from '../../support/clients/session-stream';
import { someLease } from '../fake-engines';
import { ConversationFixture } from './conversation-fixture';

/** The bounds of a session, on a manual clock. */

let one: ConversationFixture;
const withBounds = async (limits: ConstructorParameters<typeof ConversationFixture>[0]) => {
  one = new ConversationFixture(limits);
  await one.start();
};
const anyLease = attach(someLease.leaseId);
const update = (leaseNumber: number) =>
  ({
    $case: 'update',
    value: { leaseNumber: BigInt(leaseNumber), metadataUpdate: { entries: new Map() } },
  }) as const;
afterEach(() => one.close());

test('an acquire or update past the bound of unfinished commands fails, and the session continues', async () => {
  await withBounds({ maxUnfinishedCount: 2 });
  const held = await one.hold();
  const first = await one.run(lock('a'), permits('b'), lock('c'), update(held));
  expect([0, 1, 2, 3].map((index) => one.kinds(first + index))).toEqual([
    [],
    [],
    ['QUOTA_EXCEEDED'],
    ['QUOTA_EXCEEDED'],
  ]);
  await one.engine.takes[0]?.fail(new Error('any'));
  const again = await one.run(lock('c'));
  expect(one.kinds(again)).toEqual([]);
});

test('releases and attaches begin while the bound of unfinished commands is reached', async () => {
  await withBounds({ maxUnfinishedCount: 1 });
  const held = await one.hold();
  const first = await one.run(lock('a'), anyLease, release(held));
  expect(one.engine.takes.map(({ start }) => start.kind)).toEqual(['acquire', 'attach']);
  expect(one.kinds(first + 2)).toEqual(['released']);
});

test('a release, an attach and a cancel begin beside ten thousand acquires without an end', async () => {
  await withBounds({});
  const held = await one.hold();
  for (let message = 0; message < 10; message += 1) {
    await one.run(...Array.from({ length: 1000 }, (_, index) => lock(`${message} ${index}`)));
  }
  expect(one.engine.takes).toHaveLength(10_000);
  const waiting = one.engine.takes[0];
  waiting?.call.onGivenUp(() => void waiting.fail(new WaitGivenUp()));
  const first = await one.run(lock('refused'), release(held), anyLease, cancel(held + 1));
  expect(one.kinds(first)).toEqual(['QUOTA_EXCEEDED']);
  expect(one.kinds(first + 1)).toEqual(['released']);
  expect(one.engine.takes.some(({ start }) => start.kind === 'attach')).toBe(true);
  expect(one.kinds(held + 1)).toEqual(['cancelled']);
  const again = await one.run(lock('room again'));
  expect(one.kinds(again)).toEqual([]);
  expect(one.status).toBeUndefined();
});

test('a release past the bound of unanswered releases fails, until an answer has come', async () => {
  await withBounds({ maxLeaseCount: 2 });
  const held = await one.hold();
  let answer: () => void = () => undefined;
  one.engine.released = new Promise((resolve) => {
    answer = () => resolve({ released: true, lossCause: undefined });
  });
  const first = await one.run(release(held), release(held), release(held));
  expect([0, 1, 2].map((index) => one.kinds(first + index))).toEqual([[], [], ['QUOTA_EXCEEDED']]);
  answer();
  await one.turns();
  expect(one.kinds(first + 1)).toEqual(['released']);
  expect(one.kinds(await one.run(release(held)))).toEqual(['released']);
  expect(one.status).toBeUndefined();
});

test('attaches do not count for the bound of acquires', async () => {
  await withBounds({ maxUnfinishedCount: 1 });
  const first = await one.run(anyLease, attach(someLease.leaseId), lock('a'), lock('b'));
  expect(one.kinds(first + 2)).toEqual([]);
  expect(one.kinds(first + 3)).toEqual(['QUOTA_EXCEEDED']);
  await one.engine.takes[0]?.fail(new Error('any'));
  const again = await one.run(lock('b'));
  expect(one.kinds(again)).toEqual(['QUOTA_EXCEEDED']);
});

test('an acquire or attach past the bound of leases fails, until a lease has ended', async () => {
  await withBounds({ maxLeaseCount: 2 });
  await one.hold(2);
  const first = await one.run(lock('a'), anyLease);
  expect([one.kinds(first), one.kinds(first + 1)]).toEqual([['QUOTA_EXCEEDED'], ['QUOTA_EXCEEDED']]);
  one.held[0]?.owner.send({ kind: 'released' });
  one.held[0]?.owner.end(undefined);
  const again = await one.run(lock('a'));
  expect(one.kinds(again)).toEqual([]);
});

test('a message with more commands than the bound ends the session, and a full message does not', async () => {
  await withBounds({ maxCommandCount: 3 });
  await one.run(undefined, undefined, undefined);
  expect(one.status).toBeUndefined();
  await one.run(undefined, undefined, undefined, undefined);
  expect(one.status).toBe('QUOTA_EXCEEDED');
});

test('a thousand refusals that the client has not read end the session', async () => {
  await withBounds({});
  one.stream.reads = false;
  await one.heartbeat(); // The answer fills the stream.
  const unknown = Array.from({ length: 1000 }, () => undefined);
  await one.run(...unknown.slice(1));
  expect(one.status).toBeUndefined();
  await one.run(...unknown);
  expect(one.status).toBe('QUOTA_EXCEEDED');
});

test('a client that reads may have any number of refusals', async () => {
  await withBounds({});
  for (let message = 0; message < 3; message += 1) {
    await one.run(...Array.from({ length: 1000 }, () => undefined));
  }
  expect(one.events).toHaveLength(3000);
  expect(one.status).toBeUndefined();
});

test('the server stops reading a client that has a thousand unread events', async () => {
  await withBounds({});
  await one.hold(1000);
  one.stream.reads = false;
  await one.heartbeat(); // The answer fills the stream.
  for (const { owner } of one.held) owner.send({ kind: 'released' });
  await one.heartbeat();
  expect(one.stream.isPaused()).toBe(true);
  await one.run(lock('a'));
  expect(one.engine.takes).toEqual([]);
});

test('a message has at most 128 events, and no message has a renewal before the grant of its lease', async () => {
  await withBounds({});
  const first = await one.run(...Array.from({ length: 500 }, (_, index) => lock(`a ${index}`)));
  const end = { sentAt: one.clock.now(), remainingMs: 30_000 };
  one.stream.reads = false;
  await one.heartbeat();
  for (const { grant, owner } of one.engine.takes) {
    await grant(end);
    owner.send({ kind: 'renewed', end });
  }
  one.stream.read();
  await one.turns();
  const granted = new Set<bigint>();
  for (const { events, renewals } of one.stream.sent) {
    expect(events.length).toBeLessThanOrEqual(128);
    for (const { commandId } of events) granted.add(commandId);
    for (const { leaseNumber } of renewals) expect(granted).toContain(leaseNumber);
  }
  expect([granted.size, granted.has(BigInt(first))]).toEqual([500, true]);
});
