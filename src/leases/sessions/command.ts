import type { Account, Quotas } from '../../base/accounts';
import type { Call } from '../../base/call';
import type { CallerUse } from '../../base/callers';
import type { HoldfastError } from '../../base/errors';
import { WaitGivenUp } from '../attempt-errors';
import type { HoldEvent, Service } from '../lease';
import type { HoldStart, LeaseOwner, OwnedLease } from '../lease-requests';
import type { Heartbeats, SessionCall, SessionLeases } from '../life';
import type { CommandRights, SessionEvent } from './session-requests';

/** The parts that all commands of one session share. */
export interface CommandOrigin {
  /** The stream of the session. */
  readonly stream: Call;
  readonly speaker: string;
  readonly heartbeats: Heartbeats;
  /** True: the session has ended, so no event reaches the client. */
  readonly isOver: boolean;
}

const NOBODY: readonly (() => void)[] = [];

/** One command of a session, in the form of a call for the engine of leases. */
export class CommandCall implements SessionCall {
  readonly timeoutMs = undefined;
  readonly transportRetry = false;
  /** Why a new policy has ended the wait. */
  refusal: HoldfastError | undefined;
  private isGivenUp = false;
  private whenGivenUp: (() => void) | undefined;
  private whenCancelled: readonly (() => void)[] = NOBODY;

  constructor(
    private readonly origin: CommandOrigin,
    private readonly commandId: number,
    private readonly rights: CommandRights,
    readonly receivedAt: number,
  ) {}

  get speaker(): string {
    return `${this.origin.speaker}.${this.commandId}`;
  }

  get heartbeats(): Heartbeats {
    return this.origin.heartbeats;
  }

  get connection(): object {
    return this.origin.stream.connection;
  }

  get identity(): string {
    return this.origin.stream.identity;
  }

  get traceparent(): string | undefined {
    return this.origin.stream.traceparent;
  }

  get account(): Account | undefined {
    return this.origin.stream.account;
  }

  get caller(): CallerUse | undefined {
    return this.origin.stream.caller;
  }

  get quotas(): Quotas {
    return this.origin.stream.quotas;
  }

  get hidesHolders(): boolean {
    return this.rights.hidesHolders;
  }

  get cancelled(): boolean {
    return this.origin.isOver;
  }

  onCancelled(listener: () => void): void {
    if (this.cancelled) listener();
    else this.whenCancelled = this.whenCancelled.concat(listener);
  }

  /** Runs `listener` once when a new policy no longer allows the command. */
  onNotAllowed(listener: (error: HoldfastError) => void): void {
    this.rights.onNotAllowed(listener);
  }

  onGivenUp(listener: () => void): void {
    if (this.isGivenUp) listener();
    else this.whenGivenUp = listener;
  }

  /** The client has cancelled the command, or a new policy no longer allows the command. */
  giveUp(refusal?: HoldfastError): void {
    this.isGivenUp = true;
    this.refusal ??= refusal;
    this.whenGivenUp?.();
  }

  /** The wait has ended with a lease. Its listeners have nothing more to do. */
  endWait(): void {
    this.whenGivenUp = undefined;
    this.whenCancelled = NOBODY;
  }

  /** The command and its lease have ended. */
  close(): void {
    this.rights.close();
  }

  /** The session has ended. */
  cancel(): void {
    const listeners = this.whenCancelled;
    this.whenCancelled = NOBODY;
    for (const listener of listeners) listener();
  }
}

export interface CommandSession {
  readonly isOver: boolean;
  send(event: SessionEvent): void;
  /** The command has brought a lease. */
  granted(command: LeaseCommand): void;
  /** The lease of the command was revoked. */
  revoked(command: LeaseCommand): void;
  /** The command has ended, or its lease. */
  ended(command: LeaseCommand): void;
}

/**
 * An acquire or an attach of a session, and then the lease that the command has brought.
 *
 * ```
 * waiting ──granted──▶ holding ──the lease ends, or the session──▶ ended
 *         ──failed, cancelled, the session ends──▶ ended
 * ```
 */
export class LeaseCommand implements LeaseOwner {
  /** The lease, also after its end. */
  lease: OwnedLease | undefined;
  private whenAnswered: (() => void) | undefined;

  constructor(
    private readonly session: CommandSession,
    readonly id: number,
    readonly kind: HoldStart['kind'],
    private readonly call: CommandCall,
  ) {
    call.onNotAllowed((error) => {
      if (this.lease === undefined) call.giveUp(error);
      else this.lease.revokeHeld();
    });
  }

  /**
   * Waits for a lease. Nothing begins after the end of the session.
   * @param answered called once, when the store has answered
   */
  async run(engine: SessionLeases, service: Service, start: HoldStart, answered: () => void): Promise<void> {
    this.whenAnswered = answered;
    try {
      if (!this.session.isOver) await engine.take(this.call, service, start, this);
    } catch (error) {
      this.refuse(error);
    }
    this.answer();
    if (this.lease === undefined) this.close();
  }

  /** The client no longer wants the lease. A granted lease is the client's to release. */
  giveUp(): void {
    if (this.lease === undefined) this.call.giveUp();
  }

  /** The session has ended. The lease continues to its end. */
  abandon(): void {
    if (this.lease === undefined) this.call.cancel();
    else this.lease.abandon();
  }

  send(event: HoldEvent): void {
    const commandId = this.id;
    switch (event.kind) {
      case 'queued': {
        const { position, waiterCount, holder } = event;
        this.session.send({ commandId, kind: 'queued', position, waiterCount, holder });
        return this.answer();
      }
      case 'released':
        return this.session.send({ commandId, kind: 'ended', cause: 'released' });
      case 'lost':
        if (event.cause === 'revoked') this.session.revoked(this);
        return this.session.send({ commandId, kind: 'ended', cause: event.cause });
      default:
        return this.session.send({ commandId, ...event });
    }
  }

  hold(lease: OwnedLease): void {
    this.lease = lease;
    this.call.endWait();
    this.session.granted(this);
    if (this.call.refusal) lease.revokeHeld();
  }

  end(error: HoldfastError | undefined): void {
    if (error?.reason === 'SUPERSEDED') {
      this.session.send({ commandId: this.id, kind: 'ended', cause: 'superseded' });
    }
    this.close();
  }

  private answer(): void {
    this.whenAnswered?.();
    this.whenAnswered = undefined;
  }

  private refuse(error: unknown): void {
    const commandId = this.id;
    if (!(error instanceof WaitGivenUp)) this.session.send({ commandId, kind: 'failed', error });
    else if (this.call.refusal) this.session.send({ commandId, kind: 'failed', error: this.call.refusal });
    else this.session.send({ commandId, kind: 'cancelled' });
  }

  private close(): void {
    this.call.close();
    this.session.ended(this);
  }
}
