import type { CommandFailed } from '../../../generated/typescript/holdfast/v1/session_service';
import { status } from '@grpc/grpc-js';
import { ms } from '../../support/clients/lease-client';
import { CallEnded } from '../held';
import type { LeaseCommand } from './lease-command';
import type { SessionLease } from './session-lease';
import type { SessionWanted } from './session-record';

/** Reasons after which the same request is sent again. */
const REPEATED: ReadonlySet<string> = new Set([
  'OUTCOME_UNKNOWN',
  'STORE_UNAVAILABLE',
  'QUARANTINED',
  'DRAINING',
  'OVERLOADED',
]);

const SHORTEST_PAUSE_MS = 50;
/** The longest pause, even if the server asks for a longer pause. */
const LONGEST_PAUSE_MS = 1200;

/** A request for a lease, over all sessions until its answer. */
export class SessionRequest {
  /** Resolves with the lease. Rejects with CallEnded when the request ends without a lease. */
  readonly outcome: Promise<SessionLease>;
  isCancelled = false;
  isSettled = false;
  /** The latest command of this request. */
  command: LeaseCommand | undefined;
  /** The lease that a session has granted. A newer session may still answer the same request. */
  lease: SessionLease | undefined;
  private readonly settle: {
    readonly resolve: (lease: SessionLease) => void;
    readonly reject: (error: Error) => void;
  };

  constructor(readonly wanted: SessionWanted) {
    let settle: typeof this.settle | undefined;
    this.outcome = new Promise((resolve, reject) => (settle = { resolve, reject }));
    this.outcome.catch(() => undefined); // A caller that has gone away needs no outcome.
    this.settle = settle as unknown as typeof this.settle;
  }

  granted(lease: SessionLease): void {
    this.isSettled = true;
    this.settle.resolve(lease);
  }

  refuse(reason: string, code = 'CANCELLED'): void {
    this.isSettled = true;
    this.settle.reject(
      new CallEnded({ code, reason, metadata: {}, retryAfterMs: undefined, pushback: undefined, text: '' }),
    );
  }

  /** The pause before the request is sent again (ms). Undefined: the request has ended. */
  pauseAfter({ code, reasonText, retryDelay }: CommandFailed): number | undefined {
    if (!this.isCancelled && REPEATED.has(reasonText)) {
      const toldMs = retryDelay === undefined ? 0 : ms(retryDelay);
      return Math.max(SHORTEST_PAUSE_MS, Math.min(LONGEST_PAUSE_MS, toldMs));
    }
    this.refuse(reasonText, status[code]);
    return undefined;
  }
}
