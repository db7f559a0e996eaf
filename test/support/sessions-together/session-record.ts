import type { Belief } from './beliefs';
import type { AskedRequest, KnownLease } from './asked-request';
import type { SessionClient } from './session-client';

export type CommandKind = 'acquire' | 'attach' | 'release' | 'update' | 'cancel';

/** The ends of each kind of command (docs/api/sessions.md). */
const ENDS: Readonly<Record<CommandKind, readonly string[]>> = {
  acquire: ['granted', 'cancelled', 'failed'],
  attach: ['granted', 'cancelled', 'failed'],
  release: ['released', 'failed'],
  update: ['updated', 'failed'],
  cancel: [],
};

/** No command of the test may end with these reasons. */
const WRONG_REASONS = ['INTERNAL', 'INVALID_FIELD', 'NOT_IMPLEMENTED', 'QUOTA_EXCEEDED'];

/** One command of a session, as its client knows the command. */
export class CommandRecord {
  end: string | undefined;
  isCancelled = false;
  /** Orders the receipts of commands and grants of a client process. Undefined: the server has not received the command. */
  receivedAt: number | undefined;
  grantedAt: number | undefined;
  /** The time of the grant (ms, world's clock). */
  grantedTime = Infinity;
  lease: KnownLease | undefined;
  belief: Belief | undefined;
  /** True: the client was told of the end of the lease. */
  hasLeaseEnded = false;

  constructor(
    readonly session: SessionClient,
    readonly id: number,
    readonly kind: CommandKind,
    readonly request: AskedRequest | undefined,
    private readonly violations: string[],
  ) {}

  get holds(): boolean {
    return this.end === 'granted' && !this.hasLeaseEnded;
  }

  /** A cancel has no answer. */
  get isAnswered(): boolean {
    return this.end !== undefined || this.kind === 'cancel';
  }

  endWith(end: string, reason = ''): void {
    if (!ENDS[this.kind].includes(end)) this.report(`ended with ${end}`);
    if (this.end !== undefined) this.report(`ended with ${this.end}, then with ${end}`);
    if (end === 'cancelled' && !this.isCancelled) this.report('was cancelled by nobody');
    if (WRONG_REASONS.includes(reason)) this.report(`failed with ${reason}`);
    this.end = end;
  }

  /** Expects that the command has no end yet. */
  expectWait(): void {
    if (this.kind !== 'acquire' || this.end !== undefined) this.report('was told a position');
  }

  /** Expects that the client may be told of the lease. */
  expectLease(what: string): void {
    if (!this.holds) this.report(`was told ${what} without a lease`);
  }

  /** Whether the server must let this command keep the lease when the other command comes late. */
  isAfter({ session, id }: CommandRecord): boolean {
    return this.session.number > session.number || (this.session.number === session.number && this.id > id);
  }

  report(what: string): void {
    this.violations.push(`${this.kind} ${this.id} of session ${this.session.name} ${what}`);
  }
}
