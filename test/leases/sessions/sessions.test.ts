import { randomUUID } from 'node:crypto';
import type { HoldfastError } from '../../../src/base/errors';
import type { LeaseOwner, OwnedLease } from '../../../src/leases/lease-requests';
import type { SessionLeases } from '../../../src/leases/life';
import { RevokedLeases, type Session } from '../../../src/leases/sessions/session';
import { type CommandRights, defaultSessionLimits } from '../../../src/leases/sessions/session-requests';
import { Sessions } from '../../../src/leases/sessions/sessions';
import { acquireRequest, ALICE, FakeCall } from '../../support/fake-call';
import { ManualClock, settled, runtimeOn } from '../../support/manual-clock';

describe('sessions', () => {
  const RIGHTS: CommandRights = {
    hidesHolders: false,
    onNotAllowed: () => undefined,
    close: () => undefined,
  };
  const GRACE_MS = 30_000;

  /** The sessions of one server, with an engine that grants every lease at once. */
  class Fixture {
    readonly clock = new ManualClock();
    readonly connection = {};
    readonly owners: LeaseOwner[] = [];
    /** The delays of all messages that ask a client to leave (ms). */
    readonly delays: number[] = [];
    readonly events: string[] = [];
    answerRelease: () => void = () => undefined;
    readonly sessions: Sessions;

    constructor() {
      const engine: SessionLeases = {
        take: (_call, service, _start, owner) => {
          const id = { resource: { service, name: 'hello' }, requestId: ALICE, secret: 'secret' };
          this.owners.push(owner);
          owner.hold({ id, lastEnd: 0, abandon: () => owner.end(undefined), revokeHeld: () => undefined });
          return Promise.resolve();
        },
        releaseLease: () =>
          new Promise((resolve) => {
            this.answerRelease = () => resolve({ released: true, lossCause: undefined });
          }),
        renewLease: () => Promise.resolve(),
      };
      const limits = { ...defaultSessionLimits, maxSessions: 3 };
      this.sessions = new Sessions({ runtime: runtimeOn(this.clock), engine, limits });
    }

    begin(connection = this.connection): { session: Session; ending: Promise<HoldfastError | undefined> } {
      const stream = new FakeCall(this.clock, { connection });
      const start = {
        clientId: randomUUID(),
        sessionNumber: 1,
        heartbeatId: 1,
        receivedAt: this.clock.now(),
      };
      const session = this.sessions.begin(stream, start, {
        send: ({ kind }) => void this.events.push(kind),
        leave: (delayMs) => void this.delays.push(delayMs),
      });
      const ending = session.done.then(
        () => undefined,
        (error: HoldfastError) => error,
      );
      return { session, ending };
    }

    acquire(session: Session, commandId: number): void {
      const request = { ...acquireRequest({}), requestId: ALICE };
      session.run(commandId, { kind: 'acquire', service: 'lock', request }, RIGHTS, this.clock.now());
    }

    /** Lets time pass while the client sends heartbeats. */
    async pass(ms: number, session: Session): Promise<void> {
      for (let passed = 0; passed < ms; passed += 5000) {
        await this.clock.advance(Math.min(5000, ms - passed));
        session.heartbeat(session.heartbeats.id + 1, this.clock.now());
      }
    }
  }

  describe('a session of a connection that has reached its maximum age', () => {
    test('ends with REATTACH as soon as its leases have moved to another session', async () => {
      const on = new Fixture();
      const { session, ending } = on.begin();
      on.acquire(session, 1);
      on.acquire(session, 2);
      on.sessions.leaveConnection(on.connection);
      expect(on.delays).toEqual([500]);
      await on.pass(GRACE_MS / 2, session);
      on.owners[0]?.end(undefined);
      expect(session.isOver).toBe(false);
      on.owners[1]?.end(undefined);
      expect((await ending)?.reason).toBe('REATTACH');
      expect(on.sessions.size).toBe(0);
      expect(on.clock.timerCount).toBe(0);
    });

    test('ends with REATTACH after 30 s if its client does not move the leases, and asks the client once', async () => {
      const on = new Fixture();
      const { session, ending } = on.begin();
      on.acquire(session, 1);
      on.sessions.leaveConnection(on.connection);
      await on.pass(GRACE_MS - 1, session);
      on.sessions.leaveConnection(on.connection);
      expect(session.isOver).toBe(false);
      await on.clock.advance(1);
      expect((await ending)?.reason).toBe('REATTACH');
      expect(on.delays).toHaveLength(1);
    });

    test('ends after the answer to a release, not before', async () => {
      const on = new Fixture();
      const { session, ending } = on.begin();
      on.acquire(session, 1);
      session.run(2, { kind: 'release-number', leaseNumber: 1 }, RIGHTS, 0);
      await settled();
      on.sessions.leaveConnection(on.connection);
      on.owners[0]?.end(undefined);
      expect(session.isOver).toBe(false);
      on.answerRelease();
      expect((await ending)?.reason).toBe('REATTACH');
      expect(on.events).toContain('released');
    });

    test('ends immediately without leases, and sessions of other connections stay', async () => {
      const on = new Fixture();
      const old = on.begin();
      const other = on.begin({});
      on.sessions.leaveConnection(on.connection);
      expect((await old.ending)?.reason).toBe('REATTACH');
      expect([other.session.isLeaving, other.session.isOver]).toEqual([false, false]);
    });
  });

  test('a drain also asks sessions that are already leaving, ends them with DRAINING within its own time, and then resolves', async () => {
    const on = new Fixture();
    const { session, ending } = on.begin();
    on.acquire(session, 1);
    on.sessions.leaveConnection(on.connection);
    let isDrained = false;
    const drained = on.sessions.drain(2000).then(() => (isDrained = true));
    expect(on.delays).toEqual([500, 250]);
    await on.clock.advance(1999);
    expect([session.isOver, isDrained]).toEqual([false, false]);
    await on.clock.advance(1);
    await settled();
    expect((await ending)?.reason).toBe('DRAINING');
    await drained;
    expect(() => on.begin()).toThrow(expect.objectContaining({ reason: 'DRAINING' }) as Error);
  });

  test('a server opens no more sessions than its bound, and opens another session after one has ended', async () => {
    const on = new Fixture();
    const { session, ending } = on.begin();
    on.begin();
    on.begin();
    expect(() => on.begin()).toThrow(expect.objectContaining({ reason: 'QUOTA_EXCEEDED' }) as Error);
    session.end(undefined);
    await ending;
    expect(on.begin().session.isOver).toBe(false);
  });
});

describe('the revoked leases of a session', () => {
  function lease(lastEnd: number): OwnedLease {
    return {
      id: { resource: { service: 'lock', name: `until ${lastEnd}` }, requestId: ALICE, secret: 'secret' },
      lastEnd,
      abandon: () => undefined,
      revokeHeld: () => undefined,
    };
  }

  /** Revokes leases with these last ends, numbered from 0. */
  function revoked(ends: readonly number[], maxCount = 100): { leases: RevokedLeases; kept: number[] } {
    const leases = new RevokedLeases(maxCount);
    ends.forEach((end, index) => leases.add(index, lease(end), 0));
    return { leases, kept: ends.flatMap((_, index) => (leases.get(index) === undefined ? [] : [index])) };
  }

  test('a revoked lease is known by its number until its last end', () => {
    const { leases } = revoked([10, 20, 30]);
    expect(leases.get(1)?.id.resource.name).toBe('until 20');
    leases.add(3, lease(40), 20);
    expect([0, 1, 2, 3].map((number) => leases.get(number)?.lastEnd)).toEqual([undefined, undefined, 30, 40]);
  });

  test('revoked leases are known in any order of their ends, and only the newest leases up to the bound', () => {
    expect(revoked([90, 10, 20, 30]).kept).toEqual([0, 1, 2, 3]);
    expect(revoked([90, 10, 20, 30], 2).kept).toEqual([2, 3]);
  });

  test('a number is unknown in a session without a revocation', () => {
    expect(revoked([]).leases.get(0)).toBeUndefined();
  });
});
