import { HoldfastError } from '../../../src/base/errors';
import { WaitGivenUp } from '../../../src/leases/attempt-errors';
import { attach, cancel, lock, release } from '../../support/clients/session-stream';
import { someLease } from '../fake-engines';
import { ConversationFixture } from './conversation-fixture';

/** The order and the ends of the commands of a session, on a manual clock. */

let one: ConversationFixture;
beforeEach(async () => {
  one = new ConversationFixture();
  await one.start();
});
afterEach(() => one.close());

const contended = new HoldfastError('CONTENDED', 'the lock is taken', { metadata: { holder_id: 'bob' } });
const begun = (): string[] =>
  one.engine.takes.map(({ start }) => (start.kind === 'acquire' ? start.request.name : start.leaseId));

test('commands on one name begin one after the other, and commands on other names overtake', async () => {
  await one.run(lock('a'), lock('a'), lock('b'), lock('a'));
  expect(begun()).toEqual(['a', 'b']);
  await one.engine.takes[0]?.fail(contended);
  expect(begun()).toEqual(['a', 'b', 'a']);
  one.engine.takes[2]?.owner.send({
    kind: 'queued',
    requestId: '',
    position: 1,
    waiterCount: 1,
    holder: undefined,
  });
  expect(begun()).toEqual(['a', 'b', 'a', 'a']);
});

/** The counts of failed commands above 0. */
const failures = (): object => Object.fromEntries([...one.failures.all()].filter(([, count]) => count > 0));

test('counts each failed command once, by its reason', async () => {
  const first = await one.run(lock('a'), lock('b'), lock('c'), lock('refused', { requestId: '' }));
  expect(failures()).toEqual({ INVALID_FIELD: 1 });
  const [a, b] = one.engine.takes;
  await a?.fail(contended);
  await b?.fail(contended);
  await one.turns();
  expect(failures()).toEqual({ INVALID_FIELD: 1, CONTENDED: 2 });
  expect(one.kinds(first + 2)).toEqual([]);
});

test('counts the failed commands of a client that reads nothing', async () => {
  one.stream.reads = false;
  await one.heartbeat();
  const first = await one.run(lock('a', { requestId: '' }), lock('b', { requestId: '' }));
  expect(one.kinds(first)).toEqual([]);
  await one.close();
  expect(failures()).toEqual({ INVALID_FIELD: 2 });
});

test('a release begins after the acquire before it on the same name, and before the acquire after it', async () => {
  const held = await one.hold();
  const first = await one.run(lock(`held ${held}`), release(held), lock(`held ${held}`));
  expect([begun().length, one.engine.releaseCount]).toEqual([1, 0]);
  await one.engine.takes[0]?.fail(contended);
  await one.turns();
  expect([begun().length, one.engine.releaseCount]).toEqual([2, 1]);
  expect(one.kinds(first + 1)).toEqual(['released']);
});

test('a failed command has the error of a unary call, and the session continues', async () => {
  const first = await one.run(lock('a'), attach(someLease.leaseId));
  for (const { fail } of one.engine.takes) await fail(contended);
  await one.turns();
  const failed = one.events.flatMap(({ event }) => (event?.$case === 'failed' ? [event.value] : []));
  expect(failed[0]).toMatchObject({
    code: 10,
    reasonText: 'CONTENDED',
    metadata: new Map([['holder_id', 'bob']]),
  });
  expect(failed[0]?.message).toMatch(/\[CONTENDED\]$/);
  expect([one.kinds(first), one.kinds(first + 1), one.status]).toEqual([
    ['CONTENDED'],
    ['CONTENDED'],
    undefined,
  ]);
});

test('an unknown kind of command is answered with NOT_IMPLEMENTED', async () => {
  expect(one.kinds(await one.run(undefined))).toEqual(['NOT_IMPLEMENTED']);
});

test('a cancelled acquire ends once, with the answer of the engine', async () => {
  const first = await one.run(lock('a'));
  let isGivenUp = false;
  one.engine.takes[0]?.call.onGivenUp(() => (isGivenUp = true));
  await one.run(cancel(first), cancel(first));
  expect([isGivenUp, one.kinds(first)]).toEqual([true, []]);
  await one.engine.takes[0]?.fail(new WaitGivenUp());
  await one.turns();
  expect(one.kinds(first)).toEqual(['cancelled']);
});

test('a cancel of a lease, of itself, of an ended or of an unknown command has no effect', async () => {
  const held = await one.hold();
  const failed = await one.run(lock('a'));
  await one.engine.takes[0]?.fail(contended);
  const last = await one.run(cancel(held), cancel(failed), cancel(failed + 3), cancel(99));
  expect([0, 1, 2, 3].map((index) => one.kinds(last + index))).toEqual([[], [], [], []]);
  expect([one.kinds(held), one.kinds(failed)]).toEqual([['granted'], ['CONTENDED']]);
  expect([one.engine.releaseCount, one.status]).toEqual([0, undefined]);
});

test('a number names no lease before the grant, after the end, or if the session never had the lease', async () => {
  const held = await one.hold();
  one.held[0]?.owner.send({ kind: 'lost', cause: 'expired' });
  one.held[0]?.owner.end(undefined);
  const waiting = await one.run(lock('a'));
  const first = await one.run(release(waiting), release(held), release(99));
  expect([0, 1, 2].map((index) => one.kinds(first + index))).toEqual(Array(3).fill(['LEASE_NOT_HELD']));
  expect(one.engine.releaseCount).toBe(0);
});

test('the number of a revoked lease can be released until the last end of the lease', async () => {
  const held = await one.hold();
  one.held[0]?.owner.send({ kind: 'lost', cause: 'revoked' });
  one.held[0]?.owner.end(undefined);
  const first = await one.run(release(held));
  expect([one.kinds(held), one.kinds(first)]).toEqual([['granted', 'ended'], ['released']]);
});

test('commands that have not begun at the end of the session never begin', async () => {
  await one.run(lock('a'), lock('a'), lock('a'));
  one.stream.emit('end');
  await one.turns();
  await one.engine.takes[0]?.fail(contended);
  await one.turns();
  expect([begun(), one.status]).toEqual([['a'], 'OK']);
});

test('a release that has not begun at the end of the session is carried out', async () => {
  const held = await one.hold();
  await one.run(lock(`held ${held}`), release(held));
  one.stream.emit('end');
  await one.turns();
  await one.engine.takes[0]?.fail(contended);
  await one.turns();
  expect(one.engine.releaseCount).toBe(1);
});

test('a half-close ends the stream without an error, and ends no lease', async () => {
  await one.hold(300);
  one.stream.emit('end');
  await one.turns();
  one.stream.deliver({ heartbeatId: 9n, commands: [{ commandId: 9000n, command: lock('late') }] });
  await one.turns();
  expect([one.status, one.engine.abandonedCount, one.engine.releaseCount]).toEqual(['OK', 300, 0]);
  expect([begun(), one.clock.timerCount]).toEqual([[], 0]);
});
