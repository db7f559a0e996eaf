import { duration, type Lease } from '../../../clients/typescript';
import { SessionClient, type SessionSettings } from '../../../clients/typescript/sessions/session-client';
import { SessionEndCause } from '../../../generated/typescript/holdfast/v1/session_service';
import { LossCause } from '../../../generated/typescript/holdfast/v1/lease';
import { FakeWires, type FakeWire } from '../../support/clients/fake-wires';
import { causeOf, lock, permits } from '../../support/clients/sdk-session';

// Without the uptime of the machine, which fake timers do not replace.
jest.mock('../../../clients/typescript/clock', () => ({ now: () => performance.now() }));

// The fake timers replace `performance.now` and `setTimeout`, so that the tests control the clock.
beforeEach(() => jest.useFakeTimers());
afterEach(() => {
  jest.restoreAllMocks();
  jest.useRealTimers();
});

const pass = (ms: number) => jest.advanceTimersByTimeAsync(ms);
const released = {
  $case: 'released',
  value: { released: true, lossCause: LossCause.LOSS_CAUSE_UNSPECIFIED },
} as const;
const ended = (cause: SessionEndCause) => ({ $case: 'ended', value: { cause } }) as const;

async function opened(options: Partial<SessionSettings> = {}) {
  const wires = new FakeWires();
  const client = new SessionClient({
    addresses: ['a', 'b'],
    openWire: wires.open,
    holderId: 'worker',
    ...options,
  });
  await pass(0);
  wires.last.start();
  return { client, wires, wire: wires.last };
}

async function holding(leaseIds: readonly string[] = ['lease'], ttlMs = 30_000) {
  const { client, wires, wire } = await opened();
  const leases: Lease[] = [];
  for (const leaseId of leaseIds) {
    const granted = lock(client, leaseId, { ttlMs });
    await pass(0);
    wire.grant(wire.id('acquireLock', -1), leaseId, { ttl: duration(ttlMs), expireOffset: duration(ttlMs) });
    leases.push(await granted);
  }
  return { client, wires, wire, leases, lease: leases[0] as Lease };
}

/** The next session after a break, before its first response. */
async function afterBreak(wires: FakeWires, reason?: string): Promise<FakeWire> {
  const count = wires.all.length;
  wires.last.end(reason);
  await pass(1000);
  expect(wires.all.length).toBe(count + 1);
  return wires.last;
}

describe('a session client', () => {
  test('starts with session 1, heartbeat 1 and the commands of the moment', async () => {
    const wires = new FakeWires();
    const client = new SessionClient({ addresses: ['a'], openWire: wires.open, holderId: 'worker' });
    void lock(client, 'x');
    void permits(client, 'y', { permitCount: 2, initialLimit: 4 });
    await pass(0);
    expect(wires.last.requests).toMatchObject([
      {
        start: { sessionNumber: 1n, holderId: 'worker', clientId: expect.stringMatching(/^[0-9a-f-]{36}$/) },
        heartbeatId: 1n,
        commands: [
          { commandId: 1n, command: { $case: 'acquireLock', value: { name: 'x' } } },
          { commandId: 2n, command: { $case: 'acquirePermits', value: { name: 'y', permitCount: 2 } } },
        ],
      },
    ]);
  });

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

  test('ends a session that names a heartbeat which was never sent, and believes nothing in it', async () => {
    const { wire, wires, lease } = await holding();
    const before = lease.deadline;
    await pass(5000);
    wire.renew(wire.id('acquireLock'), 29_000, 9n);
    expect([lease.deadline, wire.isDestroyed]).toEqual([before, true]);
    await pass(1000);
    expect(wires.all).toHaveLength(2);
  });

  test('sends a heartbeat every sixth of the shortest ttl', async () => {
    const { wire } = await holding(['lease'], 6000);
    const before = wire.heartbeatCount;
    for (let step = 0; step < 10; step++) {
      await pass(500);
      wire.renew(wire.id('acquireLock'), 6000);
    }
    expect(wire.heartbeatCount - before).toBe(5);
  });

  test('leaves a silent server after a quarter of the shortest ttl', async () => {
    const { wire, wires, lease } = await holding(['lease'], 6000);
    wire.respond();
    await pass(1000 + 1499);
    expect(wire.isDestroyed).toBe(false);
    await pass(1);
    expect(wire.isDestroyed).toBe(true);
    await pass(600);
    expect(wires.all).toHaveLength(2);
    expect(lease.isOver).toBe(false);
  });

  test('reads the messages of the time in which it was itself stopped before it leaves', async () => {
    const { wire, lease } = await holding(['lease'], 6000);
    // The clock runs on without a timer, as for a suspended process.
    const now = performance.now() + 4000;
    const spy = jest.spyOn(performance, 'now').mockImplementation(() => now);
    await pass(1000);
    expect(wire.isDestroyed).toBe(false);
    wire.respond();
    spy.mockRestore();
    expect([wire.isDestroyed, lease.isOver]).toEqual([false, false]);
  });

  test('opens the next session at the next address, with the next number and the same client', async () => {
    const { wire, wires } = await opened();
    const next = await afterBreak(wires);
    const [first, second] = [wire, next].map(({ requests }) => requests[0]?.start);
    expect(second).toEqual({ ...first, sessionNumber: 2n });
    expect([wire.address, next.address]).toEqual(['a', 'b']);
  });

  test('attaches the earliest deadline first, then repeats releases and acquires, then sends new acquires', async () => {
    const { client, wire, wires, leases } = await holding(['one', 'two', 'three']);
    wire.renew(wire.id('acquireLock', 0), 40_000);
    await pass(1000);
    wire.renew(wire.id('acquireLock', 1), 29_000, wire.heartbeatId);
    const waiting = lock(client, 'waited', { ttlMs: 30_000 });
    void leases[2]?.release();
    await pass(0);
    const [, , , sent] = wire.commands('acquireLock');
    wire.end();
    void lock(client, 'new');
    await pass(1000);
    const next = wires.last;
    expect(next.kinds()).toEqual(['attach', 'attach', 'release', 'acquireLock', 'acquireLock']);
    expect(next.commands('attach').map(({ command }) => command.value)).toEqual([
      { leaseId: 'one' },
      { leaseId: 'two' },
    ]);
    expect(next.commands('release')[0]?.command.value).toEqual({
      lease: { $case: 'leaseId', value: 'three' },
    });
    expect(next.commands('acquireLock')[0]?.command.value).toEqual(sent?.command.value);
    next.grant(next.id('acquireLock'), 'four');
    expect((await waiting).id).toBe('four');
  });

  test('attaches in windows of 1,000', async () => {
    const { client, wire, wires } = await opened();
    for (let n = 0; n < 2500; n++) void lock(client, `n${n}`);
    await pass(0);
    for (const { id } of wire.commands('acquireLock')) wire.grant(id, `lease ${id}`);
    expect(client.leaseCount).toBe(2500);
    const next = await afterBreak(wires);
    next.start();
    expect(next.commands('attach')).toHaveLength(1000);
    expect(Math.max(...wire.requests.map(({ commands }) => commands.length))).toBe(1000);
    for (const { id } of next.commands('attach')) next.grant(id, `lease ${id}`);
    await pass(0);
    expect(next.commands('attach')).toHaveLength(2000);
  });

  test('releases a lease while its attach waits for the window, and never sends the attach', async () => {
    const { client, wire, wires } = await opened();
    const acquiring = Array.from({ length: 1002 }, (_, n) => lock(client, `n${n}`));
    await pass(0);
    for (const { id } of wire.commands('acquireLock')) wire.grant(id, `lease ${id}`);
    const leases = await Promise.all(acquiring);
    const next = await afterBreak(wires);
    next.start();
    void leases[1000]?.release();
    await pass(0);
    expect(next.commands('release')).toHaveLength(0);
    next.grant(next.id('attach'), 'lease 1');
    await pass(0);
    expect(next.commands('attach').map(({ command }) => command.value)).toHaveLength(1001);
    expect(next.commands('attach').at(-1)?.command.value).toEqual({ leaseId: 'lease 1002' });
    expect(next.commands('release')[0]?.command.value).toEqual({
      lease: { $case: 'leaseId', value: 'lease 1001' },
    });
  });

  test('makes no signal for the leases of a caller that asks for none', async () => {
    const made = jest.spyOn(globalThis, 'AbortController');
    const { wires, leases } = await holding(['one', 'two']);
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

  test('moves before the old session ends when the server asks it to leave', async () => {
    const { client, wire, wires, lease } = await holding();
    wire.respond({ leaving: { retryDelay: duration(300) } });
    void lock(client, 'late');
    await pass(299);
    expect([wires.all.length, wire.commands('acquireLock').length]).toEqual([1, 1]);
    await pass(1);
    const next = wires.last;
    expect([next.kinds(), wire.isDestroyed]).toEqual([['attach', 'acquireLock'], false]);
    wire.event(wire.id('acquireLock'), ended(SessionEndCause.SESSION_END_CAUSE_SUPERSEDED));
    expect([lease.isOver, wire.isHalfClosed]).toEqual([false, true]);
    next.start();
    next.grant(next.id('attach'), 'lease');
    wire.close();
    await pass(1000);
    expect([wires.all.length, lease.isOver]).toEqual([2, false]);
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
    await expect(lease.updateMetadata(new Map())).rejects.toThrow('no answer');
    const next = await afterBreak(wires);
    next.start();
    expect(next.kinds()).toEqual(['attach']);
    next.grant(1, 'lease');
    await pass(0);
    expect(next.commands('update')[0]?.command.value).toMatchObject({ leaseNumber: 1n });
    next.event(2, { $case: 'updated', value: {} });
    await updating;
  });

  test('skips events of a kind that it does not know', async () => {
    const { wire, lease } = await holding();
    wire.respond({ events: [{ commandId: 1n, event: undefined }] });
    wire.renew(1, 40_000);
    expect(lease.remaining()).toBe(30_000);
  });

  test('opens the next session with a new token before the old one ends', async () => {
    let count = 0;
    const token = () => Promise.resolve({ token: `t${++count}`, expiresInMs: 10_000 });
    const { wires, wire } = await opened({ token });
    for (let step = 0; step < 9; step++) {
      await pass(1000);
      wire.respond();
    }
    expect(wires.all.map((one) => one.token)).toEqual(['t1', 't2']);
    expect(wire.isHalfClosed).toBe(true);
  });

  test.each([40 * 86_400_000, Infinity, 0, -5])(
    'opens no loop of sessions for a token with a life of %d ms',
    async (expiresInMs) => {
      const { wires, wire } = await opened({ token: () => Promise.resolve({ token: 't', expiresInMs }) });
      await pass(900);
      wire.respond();
      expect(wires.all).toHaveLength(1);
    },
  );

  test('waits for more than 24 days', async () => {
    const { client, wire } = await opened();
    const waiting = lock(client, 'x', { waitMs: 30 * 86_400_000 });
    await pass(5000);
    wire.grant(wire.id('acquireLock'), 'lease');
    expect((await waiting).id).toBe('lease');
  });

  test('gets a new token once after BAD_CREDENTIAL, and then fails', async () => {
    const wires = new FakeWires();
    let count = 0;
    const client = new SessionClient({
      addresses: ['a'],
      openWire: wires.open,
      token: () => Promise.resolve({ token: `t${++count}` }),
    });
    const acquiring = expect(lock(client, 'x')).rejects.toMatchObject({ reason: 'BAD_CREDENTIAL' });
    await pass(0);
    await afterBreak(wires, 'BAD_CREDENTIAL');
    wires.last.end('BAD_CREDENTIAL');
    await acquiring;
    await pass(60_000);
    expect(wires.all.map((one) => one.token)).toEqual(['t1', 't2']);
    await expect(lock(client, 'y')).rejects.toMatchObject({ reason: 'BAD_CREDENTIAL' });
  });

  test('does not repeat a message that breaks a rule', async () => {
    const { client, wires } = await opened();
    wires.last.end('INVALID_FIELD');
    await pass(60_000);
    expect(wires.all).toHaveLength(1);
    await expect(lock(client, 'x')).rejects.toMatchObject({ reason: 'INVALID_FIELD' });
  });

  test('releases and cancels at its end, waits for the answers, and then half-closes', async () => {
    const { client, wire } = await holding();
    const waiting = expect(lock(client, 'x')).rejects.toMatchObject({ reason: 'CLOSED' });
    await pass(0);
    let isClosed = false;
    void client.close().then(() => (isClosed = true));
    await waiting;
    await pass(0);
    expect(wire.kinds().slice(-2).sort()).toEqual(['cancel', 'release']);
    wire.event(wire.id('release'), released);
    expect(wire.isHalfClosed).toBe(false);
    wire.event(2, { $case: 'cancelled', value: {} });
    await pass(0);
    expect([wire.isHalfClosed, isClosed]).toEqual([true, false]);
    wire.close();
    await pass(0);
    expect([isClosed, jest.getTimerCount()]).toEqual([true, 0]);
    await expect(lock(client, 'y')).rejects.toMatchObject({ reason: 'CLOSED' });
  });

  test('ends within its time limit although no server answers', async () => {
    const { client, wire } = await holding();
    let isClosed = false;
    void client.close(2000).then(() => (isClosed = true));
    await pass(3000);
    expect([isClosed, wire.isDestroyed, jest.getTimerCount()]).toEqual([true, true, 0]);
  });
});
