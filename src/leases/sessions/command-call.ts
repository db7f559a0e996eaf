import type { Account } from '../../base/account';
import type { Call } from '../../base/call';
import type { CallSession, SignsOfLife } from '../../base/call-session';
import type { CallerUse } from '../../base/callers';
import type { HoldfastError } from '../../base/errors';
import type { Quotas } from '../../base/quotas';
import type { CommandRights } from './session-requests';

/** The parts that all commands of one session share. */
export interface CommandOrigin {
  /** The stream of the session. */
  readonly stream: Call;
  readonly speaker: string;
  readonly signs: SignsOfLife;
  /** True: the session has ended, so no event reaches the client. */
  readonly isOver: boolean;
}

const NOBODY: readonly (() => void)[] = [];

/** One command of a session, in the form of a call for the engine of leases. */
export class CommandCall implements Call, CallSession {
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

  get session(): CallSession {
    return this;
  }

  get speaker(): string {
    return `${this.origin.speaker}.${this.commandId}`;
  }

  get signs(): SignsOfLife {
    return this.origin.signs;
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
