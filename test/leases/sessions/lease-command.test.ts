import { HoldfastError } from '../../../src/base/errors';
import type { LeaseOwner, OwnedLease } from '../../../src/leases/lease-requests';
import { CommandCall, LeaseCommand } from '../../../src/leases/sessions/command';
import { Heartbeats, type SessionLeases } from '../../../src/leases/life';
import type { CommandRights, SessionEvent } from '../../../src/leases/sessions/session-requests';
import { acquireRequest, ALICE, FakeCall } from '../../support/fake-call';
import { ManualClock, settled } from '../../support/manual-clock';

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
