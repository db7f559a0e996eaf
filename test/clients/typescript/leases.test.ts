import { getMaxListeners } from 'node:events';
import { duration } from '../../../clients/typescript';
import { LossCause } from '../../../generated/typescript/holdfast/v1/lease';
import { SessionEndCause } from '../../../generated/typescript/holdfast/v1/session_service';
import {
  afterBreak,
  causeOf,
  ended,
  holding,
  lock,
  opened,
  pass,
  released,
} from '../../support/clients/sdk-session';

// Without the uptime of the machine, which fake timers do not replace.
jest.mock('../../../clients/typescript/clock', () => {
  const now = () => performance.now();
  return { now, exactNow: now };
});

// The fake timers replace `performance.now` and `setTimeout`, so that the tests control the clock.
beforeEach(() => jest.useFakeTimers());
afterEach(() => {
  jest.restoreAllMocks();
  jest.useRealTimers();
});

describe('the leases of a client', () => {
  test('counts a deadline from the send of the heartbeat that the response names', async () => {
    const { wire, lease } = await holding();
    const first = performance.now();
    expect(lease.deadline).toBe(first + 30_000);
    await pass(5000);
    await pass(5000);
    expect(wire.heartbeatId).toBe(3n);
    wire.renew(wire.id('acquireLock'), 29_000, 2n);
    expect(lease.deadline).toBe(first + 5000 + 29_000);
  });

  test('makes no signal for the leases of a caller that asks for none', async () => {
    const { client, wires, wire } = await opened();
    const made = jest.spyOn(globalThis, 'AbortController');
    const leases = [];
    for (const id of ['one', 'two']) {
      const granted = lock(client, id, { ttlMs: 30_000 });
      await pass(0);
      wire.grant(wire.id('acquireLock', -1), id);
      leases.push(await granted);
    }
    const next = await afterBreak(wires);
    next.start();
    for (const [index, { id }] of leases.entries()) next.grant(next.id('attach', index), id);
    void leases[0]?.release();
    expect(leases.map(({ isOver }) => isOver)).toEqual([true, false]);
    expect(made).not.toHaveBeenCalled();
  });

  test('gives the cause to a signal that is first asked for after the end of the lease', async () => {
    const { wire, lease } = await holding();
    wire.event(wire.id('acquireLock'), ended(SessionEndCause.SESSION_END_CAUSE_REVOKED));
    expect(lease.signal.aborted).toBe(true);
    expect(lease.signal.reason).toMatchObject({ lossCause: 'REVOKED' });
    expect(() => lease.check()).toThrow(lease.signal.reason as Error);
  });

  test('lets any number of pieces of the work listen to the signal without a warning of Node', async () => {
    const { lease } = await holding();
    expect(getMaxListeners(lease.signal)).toBe(Infinity);
  });

  test('believes in a lease without a session until its deadline', async () => {
    const { wires, lease } = await holding();
    const next = await afterBreak(wires);
    next.end();
    await pass(28_000);
    expect(lease.isOver).toBe(false);
    await pass(2000);
    expect(causeOf(lease)).toBe('DEADLINE');
    expect(() => lease.check()).toThrow('deadline');
  });

  test.each([
    ['LEASE_NOT_HELD', 'LEASE_NOT_HELD'],
    ['SUPERSEDED', 'SUPERSEDED'],
    ['STORE_UNAVAILABLE', undefined],
    ['NOT_ALLOWED', undefined],
    ['QUARANTINED', undefined],
  ])('after an attach that failed with %s the lease is over with %s', async (reason, cause) => {
    const { wires, lease } = await holding();
    const next = await afterBreak(wires);
    next.start();
    next.fail(next.id('attach'), reason);
    expect(causeOf(lease)).toBe(cause);
    await pass(1000);
    expect(next.commands('attach')).toHaveLength(cause ? 1 : 2);
  });

  test.each([
    [SessionEndCause.SESSION_END_CAUSE_EXPIRED, 'EXPIRED'],
    [SessionEndCause.SESSION_END_CAUSE_REVOKED, 'REVOKED'],
    [SessionEndCause.SESSION_END_CAUSE_SUPERSEDED, 'SUPERSEDED'],
    [99 as SessionEndCause, 'UNRECOGNIZED'],
  ])('stops the work at the end with cause %s, and attaches no more', async (cause, lossCause) => {
    const { wire, wires, lease } = await holding();
    wire.event(wire.id('acquireLock'), ended(cause));
    expect([causeOf(lease), lease.signal.aborted]).toEqual([lossCause, true]);
    wire.renew(wire.id('acquireLock'), 60_000);
    expect(lease.isOver).toBe(true);
    expect((await afterBreak(wires)).commands()).toEqual([]);
  });

  test('never ends by release a lease that another session has', async () => {
    const { wire, lease } = await holding();
    wire.event(wire.id('acquireLock'), ended(SessionEndCause.SESSION_END_CAUSE_SUPERSEDED));
    expect(await lease.release()).toMatchObject({ released: false });
    await pass(0);
    expect(wire.commands('release')).toEqual([]);
  });

  test('releases a lease that is over when an attach grants it', async () => {
    const { wires, lease } = await holding(['lease'], 6000);
    const next = await afterBreak(wires);
    next.start();
    for (let step = 0; step < 12; step++) {
      await pass(500);
      next.respond();
    }
    expect(lease.isOver).toBe(true);
    next.grant(next.id('attach'), 'lease');
    await pass(0);
    expect(next.commands('release')[0]?.command.value).toEqual({
      lease: { $case: 'leaseId', value: 'lease' },
    });
    expect(lease.isOver).toBe(true);
  });

  test('repeats a release in each next session until the answer comes', async () => {
    const { wires, lease } = await holding();
    const releasing = lease.release();
    expect(causeOf(lease)).toBe('RELEASED');
    await pass(0);
    const second = await afterBreak(wires);
    const third = await afterBreak(wires);
    expect([second, third].map((wire) => wire.kinds())).toEqual([['release'], ['release']]);
    third.start();
    third.fail(third.id('release'), 'OUTCOME_UNKNOWN');
    await pass(1000);
    third.event(third.id('release', 1), released);
    expect(await releasing).toMatchObject({ released: true });
    expect((await afterBreak(wires)).commands()).toEqual([]);
  });

  test('keeps a lease that the old session grants while the next session repeats the acquire', async () => {
    const { client, wire, wires } = await opened();
    const acquiring = lock(client, 'x');
    await pass(0);
    wire.respond({ leaving: { retryDelay: duration(0) } });
    await pass(0);
    wire.grant(wire.id('acquireLock'), 'lease');
    const lease = await acquiring;
    wire.event(wire.id('acquireLock'), ended(SessionEndCause.SESSION_END_CAUSE_SUPERSEDED));
    wires.last.start();
    wires.last.grant(wires.last.id('acquireLock'), 'lease');
    expect([lease.isOver, client.leaseCount]).toEqual([false, 1]);
    wires.last.event(wires.last.id('acquireLock'), ended(SessionEndCause.SESSION_END_CAUSE_EXPIRED));
    expect(causeOf(lease)).toBe('EXPIRED');
  });

  test('cancels an aborted wait, and releases a grant that was under way', async () => {
    const { client, wire } = await opened();
    const abort = new AbortController();
    const acquiring = lock(client, 'x', { signal: abort.signal });
    await pass(0);
    abort.abort();
    await expect(acquiring).rejects.toBe(abort.signal.reason);
    await pass(0);
    expect(wire.commands('cancel')[0]?.command.value).toEqual({ commandId: 1n });
    wire.grant(1, 'late');
    await pass(0);
    expect(wire.commands('release')[0]?.command.value).toEqual({
      lease: { $case: 'leaseId', value: 'late' },
    });
    expect(client.leaseCount).toBe(0);
  });

  test('takes a new request_id once if the lease of the old one has ended unseen', async () => {
    const { client, wire } = await opened();
    const acquiring = lock(client, 'x');
    await pass(0);
    wire.fail(1, 'REQUEST_FINISHED');
    await pass(0);
    const ids = wire
      .commands('acquireLock')
      .map(({ command }) => (command.value as { requestId: string }).requestId);
    expect(new Set(ids).size).toBe(2);
    wire.fail(2, 'REQUEST_FINISHED');
    await expect(acquiring).rejects.toMatchObject({ reason: 'REQUEST_FINISHED' });
  });

  test('repeats an acquire of unknown outcome by its request_id, and never one that is CONTENDED', async () => {
    const { client, wire } = await opened();
    const first = lock(client, 'x');
    const second = lock(client, 'y', { waitMs: 0 });
    await pass(0);
    wire.fail(1, 'OUTCOME_UNKNOWN');
    wire.fail(2, 'CONTENDED');
    await expect(second).rejects.toMatchObject({ reason: 'CONTENDED' });
    await pass(1000);
    const [one, , repeated] = wire.commands('acquireLock').map(({ command }) => command.value);
    expect(repeated).toEqual(one);
    wire.grant(3, 'lease');
    expect((await first).id).toBe('lease');
  });

  test('gives up an acquire without an answer after its wait, and releases a late grant', async () => {
    const { client, wires } = await opened();
    const acquiring = lock(client, 'x', { waitMs: 1000 });
    await pass(0);
    const refused = expect(acquiring).rejects.toMatchObject({ reason: 'NO_ANSWER' });
    wires.last.end();
    await pass(7000);
    await refused;
    expect(wires.last.kinds()).toEqual(['acquireLock', 'cancel']);
    wires.last.grant(1, 'late');
    await pass(0);
    expect(wires.last.kinds()).toEqual(['acquireLock', 'cancel', 'release']);
  });

  test('repeats an update of metadata after the attach', async () => {
    const { wires, lease } = await holding();
    const updating = lease.updateMetadata(new Map([['zone', 'b']]));
    const next = await afterBreak(wires);
    next.start();
    expect(next.kinds()).toEqual(['attach']);
    next.grant(1, 'lease');
    await pass(0);
    expect(next.commands('update')[0]?.command.value).toMatchObject({ leaseNumber: 1n });
    next.event(2, { $case: 'updated', value: {} });
    await updating;
  });

  test('gives up an update without an answer after 10 s, and then takes the next one', async () => {
    const { lease, wires } = await holding();
    const refused = expect(lease.updateMetadata({ zone: 'b' })).rejects.toMatchObject({
      reason: 'NO_ANSWER',
      message: expect.stringContaining('"report"'),
    });
    await pass(10_000);
    await refused;
    const next = await afterBreak(wires);
    next.start();
    next.grant(next.id('attach'), 'lease');
    await pass(0);
    expect(next.commands('update')).toEqual([]);
    const updating = lease.updateMetadata({ zone: 'c' });
    await pass(0);
    next.event(next.id('update'), { $case: 'updated', value: {} });
    await updating;
  });

  test('sends no update that is late together with the first one, and ends many wrong ones', async () => {
    const { lease, wires } = await holding();
    const late = ['one', 'two', 'three'].map((stage) => lease.updateMetadata({ stage }));
    const outcomes = Promise.allSettled(late);
    await pass(10_000);
    expect((await outcomes).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    expect(wires.last.commands('update')).toHaveLength(1);
    const first = lease.updateMetadata({ stage: 'four' });
    // The stacks of 10,000 errors would take most of the test's time.
    jest.replaceProperty(Error, 'stackTraceLimit', 0);
    const wrong = Promise.allSettled(
      Array.from({ length: 10_000 }, () =>
        lease.changeMetadata(() => new Map([['stage', 'x'.repeat(2 ** 20)]])),
      ),
    );
    const last = lease.updateMetadata({ stage: 'last' });
    await pass(0);
    wires.last.event(wires.last.id('update', -1), { $case: 'updated', value: {} });
    await first;
    expect((await wrong).every(({ status }) => status === 'rejected')).toBe(true);
    await pass(0);
    wires.last.event(wires.last.id('update', -1), { $case: 'updated', value: {} });
    await last;
  });

  test('waits for more than 24 days', async () => {
    const { client, wire } = await opened();
    const waiting = lock(client, 'x', { waitMs: 30 * 86_400_000 });
    await pass(5000);
    wire.grant(wire.id('acquireLock'), 'lease');
    expect((await waiting).id).toBe('lease');
  });

  test.each([
    [SessionEndCause.SESSION_END_CAUSE_RELEASED, 'RELEASED', 'it was released'],
    [SessionEndCause.SESSION_END_CAUSE_UNSPECIFIED, 'UNRECOGNIZED', 'for an unknown reason'],
    [99 as SessionEndCause, 'UNRECOGNIZED', 'for an unknown reason'],
  ])('takes an end with cause %s that it did not ask for as a loss', async (cause, lossCause, text) => {
    const { wire, lease } = await holding();
    wire.event(wire.id('acquireLock'), ended(cause));
    expect(lease.loss).toMatchObject({ lossCause, noticedBy: 'server' });
    expect(() => lease.fencingToken).toThrow(text);
  });

  test('takes its own release as no loss, also after the end that the server tells', async () => {
    const { wire, lease } = await holding();
    void lease.release();
    wire.event(wire.id('acquireLock'), ended(SessionEndCause.SESSION_END_CAUSE_RELEASED));
    expect([causeOf(lease), lease.loss]).toEqual(['RELEASED', undefined]);
  });

  test.each([
    [LossCause.LOSS_CAUSE_EXPIRED, 'EXPIRED'],
    [LossCause.LOSS_CAUSE_UNSPECIFIED, undefined],
    [99 as LossCause, 'UNRECOGNIZED'],
  ])('gives the cause %s of the answer to a release as %s', async (lossCause, cause) => {
    const { wire, lease } = await holding();
    const releasing = lease.release();
    await pass(0);
    wire.event(wire.id('release'), { $case: 'released', value: { released: false, lossCause } });
    expect(await releasing).toEqual({ released: false, lossCause: cause });
  });

  test('makes the pauses before repeated attaches longer, and repeats well before the deadline', async () => {
    jest.spyOn(Math, 'random').mockReturnValue(1);
    const { wires } = await holding();
    const next = await afterBreak(wires);
    next.start();
    const attaches = () => next.commands('attach').length;
    for (const pauseMs of [100, 200, 400, 800]) {
      next.fail(next.id('attach', -1), 'STORE_UNAVAILABLE');
      const before = attaches();
      await pass(pauseMs - 1);
      expect(attaches()).toBe(before);
      await pass(1);
      expect(attaches()).toBe(before + 1);
    }
  });

  test('frees the place of an abandoned acquire, and releases its late grant', async () => {
    const { client, wire } = await opened();
    const abort = new AbortController();
    const waits = Array.from({ length: 10_000 }, (_, n) => lock(client, `n${n}`, { signal: abort.signal }));
    const ends = Promise.allSettled(waits);
    await pass(0);
    await expect(lock(client, 'more')).rejects.toMatchObject({ reason: 'QUOTA_EXCEEDED' });
    abort.abort();
    await ends;
    const acquiring = lock(client, 'more');
    await pass(0);
    wire.grant(wire.id('acquireLock', 0), 'late');
    wire.grant(wire.id('acquireLock', -1), 'lease');
    expect((await acquiring).id).toBe('lease');
    await pass(0);
    expect(wire.commands('release').map(({ command }) => command.value)).toEqual([
      { lease: { $case: 'leaseId', value: 'late' } },
    ]);
  });

  test('remembers at most 10,000 abandoned acquires', async () => {
    const { client, wire, wires } = await opened();
    for (let round = 0; round < 3; round++) {
      const abort = new AbortController();
      const waits = Array.from({ length: 5000 }, () => lock(client, 'x', { signal: abort.signal }));
      const ends = Promise.allSettled(waits);
      await pass(0);
      abort.abort();
      await ends;
    }
    await pass(0);
    expect(wire.commands('acquireLock')).toHaveLength(15_000);
    const next = await afterBreak(wires);
    next.start();
    await pass(0);
    expect([next.commands('acquireLock').length, next.commands('cancel').length]).toEqual([10_000, 10_000]);
  });

  test.each(['QUARANTINED', 'STORE_UNAVAILABLE'])(
    'ends an attempt at once after its wait with %s',
    async (reason) => {
      const { client, wire } = await opened();
      const told = jest.fn();
      void lock(client, 'x', { waitMs: 2000 }).catch(told);
      await pass(0);
      wire.fail(1, reason);
      await pass(2000);
      expect(told).not.toHaveBeenCalled();
      wire.fail(wire.id('acquireLock', 1), reason);
      await pass(0);
      expect(told).toHaveBeenCalledWith(expect.objectContaining({ name: 'UnavailableError', reason }));
      expect((told.mock.calls as [[Error]])[0][0].message).toMatch(/^the servers put off the acquire of "x"/);
    },
  );

  test('names the last reason of the server when an attempt that may have been granted is not decided in time', async () => {
    const { client, wire } = await opened();
    const refused = expect(lock(client, 'x', { waitMs: 0 })).rejects.toMatchObject({
      name: 'UnavailableError',
      reason: 'STORE_UNAVAILABLE',
      message: expect.stringMatching(/^the servers put off the acquire of "x"/) as string,
    });
    await pass(0);
    wire.fail(1, 'OUTCOME_UNKNOWN');
    await pass(1000);
    wire.fail(wire.id('acquireLock', 1), 'STORE_UNAVAILABLE');
    await pass(5000);
    await refused;
  });
});
