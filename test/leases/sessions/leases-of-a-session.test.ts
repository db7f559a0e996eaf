import { randomUUID } from 'node:crypto';
import { HoldfastError } from '../../../src/base/errors';
import type { LeaseOwner, OwnedLease } from '../../../src/leases/lease-requests';
import { Heartbeats, type SessionLeases } from '../../../src/leases/life';
import { CommandCall, LeaseCommand } from '../../../src/leases/sessions/command';
import type { Session } from '../../../src/leases/sessions/session';
import {
  type CommandRights,
  defaultSessionLimits,
  type SessionEvent,
} from '../../../src/leases/sessions/session-requests';
import { Sessions } from '../../../src/leases/sessions/sessions';
import { acquireRequest, ALICE, FakeCall } from '../../support/fake-call';
import { answerTouch, answerWaiting, EngineFixture } from '../../support/leases/engine-fixture';
import { EMPTY_SNAPSHOT, grantedAt } from '../../support/leases/fake-store';
import { ManualClock, settled, runtimeOn } from '../../support/manual-clock';

describe('a lease of a session', () => {
  /** A session over the engine of leases, with a store that the test answers. */

  const RIGHTS: CommandRights = {
    hidesHolders: false,
    onNotAllowed: () => undefined,
    close: () => undefined,
  };
  const HEARTBEAT_MS = 1000;

  class Fixture {
    readonly on = EngineFixture.onFakeStore();
    readonly told: (SessionEvent & { readonly at: number })[] = [];
    readonly startedAt = this.on.clock.now();
    private readonly session: Session;

    constructor() {
      const { permits: engine, clock } = this.on;
      const limits = defaultSessionLimits;
      const start = { clientId: randomUUID(), sessionNumber: 1, heartbeatId: 1, receivedAt: clock.now() };
      this.session = new Sessions({ runtime: runtimeOn(clock), engine, limits }).begin(
        new FakeCall(clock),
        start,
        {
          send: (event) => void this.told.push({ ...event, at: clock.now() - this.startedAt }),
          leave: () => undefined,
        },
      );
    }

    acquire(commandId: number, ttlMs = 30_000): void {
      const request = { ...acquireRequest({ ttlMs, waitTimeoutMs: Infinity }), requestId: ALICE };
      this.session.run(commandId, { kind: 'acquire', service: 'lock', request }, RIGHTS, this.on.clock.now());
    }

    cancel(commandId: number, cancelled: number): void {
      const command = { kind: 'cancel', commandId: cancelled } as const;
      this.session.run(commandId, command, RIGHTS, this.on.clock.now());
    }

    /** The reasons of all commands that have failed. */
    get failures(): unknown[] {
      return this.told.map((event) =>
        event.kind === 'failed' && event.error instanceof HoldfastError ? event.error.reason : event.kind,
      );
    }

    async granted(ttlMs: number): Promise<void> {
      this.acquire(1, ttlMs);
      const sent = await this.on.store.next('acquire');
      await sent.answer(grantedAt(sent.at, { remainingMs: ttlMs, ttlMs }));
      await settled();
    }

    heartbeat(): void {
      this.session.heartbeat(this.session.heartbeats.id + 1, this.on.clock.now());
    }

    /** Lets time pass while the client sends heartbeats. */
    async pass(ms: number): Promise<void> {
      for (let passed = 0; passed < ms; passed += HEARTBEAT_MS) {
        await this.on.clock.advance(Math.min(HEARTBEAT_MS, ms - passed));
        this.heartbeat();
        await settled();
      }
    }

    /** The kinds of all events, with the causes of ends and the positions of waits. */
    get events(): unknown[][] {
      return this.told.map((event) => {
        if (event.kind === 'queued') return [event.kind, event.at, event.position];
        if (event.kind === 'ended') return [event.kind, event.cause];
        return [event.kind];
      });
    }
  }

  test('a client gets the position of its command immediately, then the latest position at most every two seconds', async () => {
    const one = new Fixture();
    one.acquire(1);
    await answerWaiting(one.on, { position: 9 });
    for (const position of [9, 8, 7, 6, 5, 4, 4, 4, 3]) {
      await one.pass(1000);
      await answerTouch(one.on, [position]);
    }
    expect(one.events).toEqual([
      ['queued', 0, 9],
      ['queued', 2000, 8],
      ['queued', 4000, 6],
      ['queued', 6000, 4],
      ['queued', 9000, 3],
    ]);
  });

  test('a lease that the store has forgotten ends with store-reset', async () => {
    const one = new Fixture();
    await one.granted(30_000);
    await one.pass(10_000);
    await (await one.on.store.next('renew')).answer({ kind: 'gone' });
    await settled();
    expect(one.events).toEqual([['granted'], ['ended', 'store-reset']]);
  });

  test('a lease ends with store-unavailable, after a warning, if its renewals reach no store', async () => {
    const one = new Fixture();
    await one.granted(3000);
    await one.pass(1000);
    await (await one.on.store.next('renew')).fail('unknown');
    await settled();
    expect(one.events).toEqual([['granted'], ['renewal-failed']]);
    await one.pass(2000);
    expect(one.events.at(-1)).toEqual(['ended', 'store-unavailable']);
  });

  test('a lease ends with store-unavailable if its renewal has no answer', async () => {
    const one = new Fixture();
    await one.granted(3000);
    await one.pass(2000);
    expect(one.events).not.toContainEqual(['ended', 'store-unavailable']);
    await one.pass(1000);
    expect(one.events.at(-1)).toEqual(['ended', 'store-unavailable']);
  });

  test('a command that is cancelled during a quarantine ends with OUTCOME_UNKNOWN, and gives its place back', async () => {
    const one = new Fixture();
    one.acquire(1);
    await answerWaiting(one.on);
    one.cancel(2, 1);
    await settled();
    await (await one.on.store.next('withdraw')).fail('no', 'quarantined', 10_000);
    await settled();
    expect(one.failures).toEqual(['queued', 'OUTCOME_UNKNOWN']);
    const giveBack = await one.on.store.next('withdraw');
    expect(giveBack.command).toMatchObject({ giveBack: true });
    await giveBack.answer({ kind: 'withdrawn', snapshot: EMPTY_SNAPSHOT });
    expect(one.on.permits.stats()).toMatchObject({ waitingCount: 0, givingBackCount: 0 });
  });

  test('a heartbeat after silence renews no lease in the turn in which it is read, because there may be thousands', async () => {
    const one = new Fixture();
    const { store, clock } = one.on;
    const answerRenewal = async (): Promise<void> => {
      await clock.advance(1000);
      const sent = await store.next('renew');
      await sent.answer(grantedAt(sent.at, { remainingMs: 3000, ttlMs: 3000 }));
    };
    await one.granted(3000);
    await answerRenewal();
    await answerRenewal();
    await clock.advance(2000);
    expect(store.count('renew')).toBe(2);
    one.heartbeat();
    expect(store.count('renew')).toBe(2);
    await clock.advance(10);
    expect(store.count('renew')).toBe(3);
  });
});

describe('a command of a session', () => {
  const notAllowed = new HoldfastError('NOT_ALLOWED', 'the name is not allowed');

  /** One acquire of a session, with an engine that answers when the test says so. */
  class OneCommand {
    readonly events: SessionEvent[] = [];
    /** What the engine and the session were told, in order. */
    readonly log: string[] = [];
    refuse: (error: HoldfastError) => void = () => undefined;
    owner!: LeaseOwner;
    isOver = false;
    private readonly clock = new ManualClock();
    private answer!: { resolve: () => void; reject: (error: Error) => void };
    readonly command: LeaseCommand;

    constructor() {
      const heartbeats = new Heartbeats(1, 0, 15_000);
      const rights: CommandRights = {
        hidesHolders: false,
        onNotAllowed: (listener) => (this.refuse = listener),
        close: () => void this.log.push('rights closed'),
      };
      const origin = { stream: new FakeCall(this.clock), speaker: 'client/1', heartbeats, isOver: false };
      const call = new CommandCall(origin, 7, rights, 0);
      this.command = new LeaseCommand(this, 7, 'acquire', call);
      const engine: SessionLeases = {
        take: (_call, _service, _start, owner) => {
          this.log.push('take');
          this.owner = owner;
          return new Promise((resolve, reject) => (this.answer = { resolve, reject }));
        },
        releaseLease: () => Promise.reject(new Error('not used')),
        renewLease: () => Promise.reject(new Error('not used')),
      };
      const start = { kind: 'acquire', request: acquireRequest({}) } as const;
      void this.command.run(engine, 'lock', start, () => this.log.push('answered'));
    }

    send(event: SessionEvent): void {
      this.events.push(event);
    }

    granted(): void {
      this.log.push('granted');
    }

    revoked(): void {
      this.log.push('revoked');
    }

    ended(): void {
      this.log.push('ended');
    }

    async grant(): Promise<void> {
      const lease: OwnedLease = {
        id: { resource: { service: 'lock', name: 'hello' }, requestId: ALICE, secret: 'secret' },
        lastEnd: 0,
        abandon: () => void this.log.push('abandoned'),
        revokeHeld: () => void this.log.push('revoke'),
      };
      this.owner.hold(lease);
      this.answer.resolve();
      await settled();
    }

    async fail(error: Error): Promise<void> {
      this.answer.reject(error);
      await settled();
    }
  }

  test('a lease is revoked if a new policy has refused its command before the grant', async () => {
    const one = new OneCommand();
    one.refuse(notAllowed);
    await one.grant();
    expect(one.log).toEqual(['take', 'granted', 'revoke', 'answered']);
  });

  test('a new policy that no longer allows the name revokes the lease of the command', async () => {
    const one = new OneCommand();
    await one.grant();
    one.refuse(notAllowed);
    expect(one.log.at(-1)).toBe('revoke');
  });

  test('a failed command ends with one event, and reports once that the store has answered', async () => {
    const one = new OneCommand();
    await one.fail(new HoldfastError('CONTENDED', 'the lock is taken'));
    expect(one.events).toEqual([{ commandId: 7, kind: 'failed', error: expect.any(HoldfastError) }]);
    expect(one.log).toEqual(['take', 'answered', 'rights closed', 'ended']);
  });

  test('the end of the session abandons the lease, and ends nothing else', async () => {
    const one = new OneCommand();
    await one.grant();
    one.command.abandon();
    expect(one.log.at(-1)).toBe('abandoned');
    expect(one.events).toEqual([]);
  });

  test('a superseded lease is reported as ended', async () => {
    const one = new OneCommand();
    await one.grant();
    one.owner.end(new HoldfastError('SUPERSEDED', 'another session holds the lease'));
    expect(one.events).toEqual([{ commandId: 7, kind: 'ended', cause: 'superseded' }]);
    expect(one.log.slice(-2)).toEqual(['rights closed', 'ended']);
  });
});
