import { HoldfastError } from '../../../src/base/errors';
import { CommandTurns } from '../../../src/flow/turns';
import { WaitGivenUp } from '../../../src/leases/attempt-errors';
import { someLease } from '../../contract/fake-engines';
import { ConversationFixture } from '../../contract/sessions/conversation-fixture';
import { attach, cancel, lock, permits, release } from '../../support/clients/session-stream';
import { settled } from '../../support/manual-clock';

describe('commands of a session', () => {
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
});

describe('bounds of a session', () => {
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
});

describe('command turns', () => {
  /** Pushes this many commands for each session. Returns the session of each begun command, in order. */
  function pushed(counts: Readonly<Record<string, number>>): string[] {
    const turns = new CommandTurns({ now: () => 0 });
    const begun: string[] = [];
    for (const [name, count] of Object.entries(counts)) {
      const session = { name };
      for (let index = 0; index < count; index += 1) {
        turns.push(session, () => void begun.push(`${name}${index}`));
      }
    }
    return begun;
  }

  test('the commands of a session begin in their order, at most 32 in a turn of the event loop', async () => {
    const begun = pushed({ a: 70 });
    expect(begun).toEqual([]);
    const counts: number[] = [];
    for (let turn = 0; turn < 4; turn += 1) {
      await settled();
      counts.push(begun.length);
    }
    expect(Math.max(...counts.map((count, turn) => count - (counts[turn - 1] ?? 0)))).toBeLessThanOrEqual(32);
    expect(begun).toEqual(Array.from({ length: 70 }, (_, index) => `a${index}`));
  });

  test('a session with few commands does not wait for a session with a thousand', async () => {
    const begun = pushed({ a: 1000, b: 2 });
    while (!begun.includes('b1')) await settled();
    expect(begun.length).toBeLessThanOrEqual(64);
  });

  test('no command begins later than half a millisecond after the first one of its turn', async () => {
    let now = 0;
    const turns = new CommandTurns({ now: () => now });
    const begunAt: number[] = [];
    for (let index = 0; index < 5; index += 1) {
      turns.push(turns, () => {
        begunAt.push(now);
        now += 0.3;
      });
    }
    const counts: number[] = [];
    while (begunAt.length < 5) {
      await settled();
      counts.push(begunAt.length);
    }
    const inOneTurn = counts.map((count, turn) => count - (counts[turn - 1] ?? 0));
    expect(Math.max(...inOneTurn)).toBe(2);
  });
});
