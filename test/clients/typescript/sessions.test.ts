import { status as codes } from '@grpc/grpc-js';
import { ClosedError, duration } from '../../../clients/typescript';
import { SessionClient } from '../../../clients/typescript/sessions/session-client';
import { SessionEndCause } from '../../../generated/typescript/holdfast/v1/session_service';
import type { SessionNews } from '../../../clients/typescript/sessions/session-news';
import {
  afterBreak,
  ended,
  FakeWires,
  holding,
  lock,
  opened,
  pass,
  permits,
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

describe('the sessions of a client', () => {
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

  test('fetches refused tokens again after the first session, while leases and waits last', async () => {
    let count = 0;
    const token = () => Promise.resolve({ token: `t${++count}` });
    const { client, wires, lease } = await holding(['lease'], 120_000, { token });
    const waiting = lock(client, 'x');
    for (let refusal = 0; refusal < 5; refusal++) {
      wires.last.end('BAD_CREDENTIAL');
      await pass(5000);
    }
    expect(wires.all.map((one) => one.token)).toEqual(['t1', 't2', 't3', 't4', 't5', 't6']);
    wires.last.start();
    wires.last.grant(wires.last.id('attach'), 'lease');
    wires.last.grant(wires.last.id('acquireLock'), 'other');
    expect([(await waiting).id, lease.isValid]).toEqual(['other', true]);
  });

  test('gives up a token callback that hangs, and asks again', async () => {
    let count = 0;
    const token = () =>
      ++count === 1 ? new Promise<never>(() => undefined) : Promise.resolve({ token: 't' });
    const wires = new FakeWires();
    const client = new SessionClient({ addresses: ['a'], openWire: wires.open, token });
    const early = expect(client.ready(5000)).rejects.toThrow('the token callback has not answered');
    await pass(9999);
    await early;
    expect(wires.all).toHaveLength(0);
    await pass(1 + 100);
    expect(wires.all.map((one) => one.token)).toEqual(['t']);
  });

  test.each([
    ['hangs', () => new Promise<never>(() => undefined)],
    ['fails', () => Promise.reject(new Error('sealed'))],
  ])('acquires in the present session while the callback for the next token %s', async (_title, next) => {
    let count = 0;
    const first = { token: 't', expiresInMs: 60_000 };
    const { client, wire, wires } = await opened({
      token: () => (++count > 1 ? next() : Promise.resolve(first)),
    });
    for (let second = 0; second < 50; second++) {
      await pass(1000);
      wire.respond();
    }
    expect([count > 1, wires.all.length]).toEqual([true, 1]);
    const acquiring = lock(client, 'x');
    await pass(0);
    wire.grant(wire.id('acquireLock'), 'lease');
    expect((await acquiring).isValid).toBe(true);
    void client.close();
    await pass(10_000);
  });

  test('closes while a token callback hangs, and leaves no timer', async () => {
    const wires = new FakeWires();
    const token = () => new Promise<never>(() => undefined);
    const client = new SessionClient({ addresses: ['a'], openWire: wires.open, token });
    await pass(0);
    await client.close();
    await pass(0);
    expect([wires.all.length, jest.getTimerCount()]).toEqual([0, 0]);
  });

  test('closes during the wait for the first answer, and leaves no timer', async () => {
    const client = new SessionClient({ addresses: ['a'], openWire: new FakeWires().open });
    const ready = expect(client.ready(10_000)).rejects.toThrow(ClosedError);
    await pass(100);
    await client.close();
    await ready;
    expect(jest.getTimerCount()).toBe(0);
  });

  test('waits for the first answer although `timeout` is longer than any timer', async () => {
    const wires = new FakeWires();
    const client = new SessionClient({ addresses: ['a'], openWire: wires.open });
    const ready = client.ready(2 ** 32);
    await pass(1000);
    wires.last.start();
    await expect(ready).resolves.toBeUndefined();
    void client.close();
    await pass(1000);
  });

  test.each([[undefined], [null], ['sealed'], [new Error('sealed')]])(
    'asks again for a token that was rejected with %p, and says so',
    async (thrown: unknown) => {
      let count = 0;
      const token = async () => {
        await Promise.resolve();
        if (++count === 1) throw thrown;
        return { token: 't' };
      };
      const wires = new FakeWires();
      const news: SessionNews[] = [];
      const onNews = (one: SessionNews) => void news.push(one);
      new SessionClient({ addresses: ['a'], openWire: wires.open, token, onNews });
      await pass(200);
      expect(wires.all.map((one) => one.token)).toEqual(['t']);
      expect(news).toMatchObject([{ kind: 'ended', error: { reason: 'NO_CREDENTIAL' } }]);
    },
  );

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

  test.each([
    ['NOT_ALLOWED', codes.PERMISSION_DENIED, 1],
    ['INVALID_FIELD', codes.INVALID_ARGUMENT, 1],
    [undefined, codes.UNAUTHENTICATED, 2],
  ])('fails after %s with code %d in session %d, if no session has started', async (reason, code, count) => {
    const wires = new FakeWires();
    const client = new SessionClient({ addresses: ['a'], openWire: wires.open });
    const acquiring = expect(lock(client, 'x')).rejects.toMatchObject({ code });
    await pass(0);
    for (let n = 1; n <= count; n++) {
      expect(wires.all).toHaveLength(n);
      wires.last.end(reason, code);
      await pass(1000);
    }
    await acquiring;
    await pass(60_000);
    expect(wires.all).toHaveLength(count);
  });

  test.each([
    ['NOT_ALLOWED', codes.PERMISSION_DENIED],
    ['INVALID_FIELD', codes.INVALID_ARGUMENT],
    [undefined, codes.UNIMPLEMENTED],
  ])('goes on after %s with code %d, if a session has started', async (reason, code) => {
    const { wires, lease } = await holding();
    for (let n = 2; n <= 5; n++) {
      wires.last.end(reason, code);
      await pass(1000);
      expect(wires.all).toHaveLength(n);
    }
    wires.last.start();
    wires.last.grant(wires.last.id('attach'), 'lease');
    expect(lease.isOver).toBe(false);
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

  test('counts its own end as a loss of each lease that it holds', async () => {
    const news: SessionNews[] = [];
    const { client, lease } = await holding(['lease'], 30_000, { onNews: (one) => void news.push(one) });
    const { signal } = lease;
    const closing = client.close(1000);
    expect(signal.reason).toMatchObject({ name: 'LeaseLostError', lossCause: 'CLOSED', noticedBy: 'client' });
    expect(() => lease.check()).toThrow('the client was closed');
    expect(() => lease.fencingToken).toThrow('the client was closed');
    expect(news.map(({ kind }) => kind)).toEqual(['started']);
    await pass(3000);
    await closing;
  });

  test.each([
    ['a server that leaves', {}, { leaving: { retryDelay: duration(300) } }],
    ['a token that ends', { token: () => Promise.resolve({ token: 't', expiresInMs: 1250 }) }, {}],
  ])('opens no session at its end, also with %s', async (_title, options, response) => {
    const { client, wire, wires } = await opened(options);
    await pass(700);
    wire.respond(response);
    const ends: string[] = [];
    void client.close().then(() => ends.push('first'));
    void client.close().then(() => ends.push('second'));
    await pass(999);
    expect([wires.all.length, wire.isHalfClosed, ends]).toEqual([1, true, []]);
    await pass(1);
    expect([wires.all.length, ends, jest.getTimerCount()]).toEqual([1, ['first', 'second'], 0]);
  });

  test('does not wait for the work of a lease that was lost before', async () => {
    const { client, wire, lease } = await holding();
    expect(lease.beginWork()).toBeUndefined();
    wire.event(wire.id('acquireLock'), ended(SessionEndCause.SESSION_END_CAUSE_REVOKED));
    let isClosed = false;
    void client.close().then(() => (isClosed = true));
    await pass(0);
    expect(wire.isHalfClosed).toBe(true);
    wire.close();
    await pass(0);
    expect([isClosed, wire.commands('release'), jest.getTimerCount()]).toEqual([true, [], 0]);
  });

  test('ends within its time limit although no server answers', async () => {
    const { client, wire } = await holding();
    let isClosed = false;
    void client.close(2000).then(() => (isClosed = true));
    await pass(3000);
    expect([isClosed, wire.isDestroyed, jest.getTimerCount()]).toEqual([true, true, 0]);
  });
});
