import { randomUUID } from 'node:crypto';
import type { HoldfastError } from '../../../src/base/errors';
import type { LeaseOwner } from '../../../src/leases/lease-requests';
import type { SessionLeases } from '../../../src/leases/life';
import { defaultSessionLimits, type CommandRights } from '../../../src/leases/sessions/session-requests';
import type { Session } from '../../../src/leases/sessions/session';
import { Sessions } from '../../../src/leases/sessions/sessions';
import { acquireRequest, ALICE, FakeCall } from '../../support/fake-call';
import { ManualClock, settled, runtimeOn } from '../../support/manual-clock';

const RIGHTS: CommandRights = { hidesHolders: false, onNotAllowed: () => undefined, close: () => undefined };
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
