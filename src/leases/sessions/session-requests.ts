import type { HoldfastError } from '../../base/errors';
import type { HolderView, Lease, LeaseEnd, LossCause, Service } from '../lease';
import type { LeaseId } from '../lease-id';
import type { AcquireRequest } from '../lease-requests';

/** The terms of sessions. A session is one stream with all leases of a client process. See docs/api/sessions.md. */

/** Who opens a session. The service has checked the fields. */
export interface SessionStart {
  /** A lower-case UUID of the client process. */
  readonly clientId: string;
  /** Rises with each session of the process. At most 2^53 - 1. */
  readonly sessionNumber: number;
  /** The first heartbeat. */
  readonly heartbeatId: number;
  /** The receipt of the first heartbeat (ms, monotonic clock). The call itself may have come much earlier. */
  readonly receivedAt: number;
}

/** A command of a session. The service has checked the fields. */
export type SessionCommand =
  | {
      readonly kind: 'acquire';
      readonly service: Service;
      readonly request: AcquireRequest & { readonly requestId: string };
    }
  | { readonly kind: 'attach'; readonly service: Service; readonly leaseId: string }
  | { readonly kind: 'release'; readonly lease: LeaseId }
  | { readonly kind: 'release-number'; readonly leaseNumber: number }
  | {
      readonly kind: 'update';
      readonly leaseNumber: number;
      readonly metadata: Readonly<Record<string, string>>;
    }
  | { readonly kind: 'cancel'; readonly commandId: number };

/** What the caller of one command may do. A new policy may change the answers. */
export interface CommandRights {
  /** As in Call. */
  readonly hidesHolders: boolean;
  /** Runs `listener` once when a new policy no longer allows the command. A second listener replaces the first. */
  onNotAllowed(listener: (error: HoldfastError) => void): void;
  /** The command and its lease have ended. */
  close(): void;
}

export type SessionEndCause = LossCause | 'released' | 'superseded';

/** `commandId` is the command, or the command that has brought the lease. */
export type SessionEvent = { readonly commandId: number } & (
  | {
      readonly kind: 'queued';
      readonly position: number;
      readonly waiterCount: number;
      readonly holder: HolderView | undefined;
    }
  | { readonly kind: 'granted'; readonly lease: Lease }
  | { readonly kind: 'renewed'; readonly end: LeaseEnd; readonly newTtlMs?: number | undefined }
  | { readonly kind: 'renewal-failed'; readonly end: LeaseEnd; readonly cause: LossCause }
  | { readonly kind: 'ended'; readonly cause: SessionEndCause }
  | { readonly kind: 'released'; readonly released: boolean; readonly lossCause: LossCause | undefined }
  | { readonly kind: 'updated' }
  | { readonly kind: 'cancelled' }
  | { readonly kind: 'failed'; readonly error: unknown }
);

/** Receives the events of a session for its client. No function blocks or throws. */
export interface SessionSink {
  send(event: SessionEvent): void;
  /** The session will end soon. The client opens the next session after this delay. */
  leave(retryDelayMs: number): void;
}

/** The bounds of one session. */
export interface SessionLimits {
  readonly heartbeatIntervalMs: number;
  readonly heartbeatTimeoutMs: number;
  /** The most commands in one message. A message to the client has fewer events (MOST_EVENTS in session-outbox.ts). */
  readonly maxCommandCount: number;
  readonly maxMessageBytes: number;
  readonly maxUnfinishedCount: number;
  readonly maxLeaseCount: number;
  /** The most sessions of one server. */
  readonly maxSessions: number;
}

export const defaultSessionLimits: SessionLimits = {
  heartbeatIntervalMs: 5000,
  heartbeatTimeoutMs: 15_000,
  maxCommandCount: 1000,
  maxMessageBytes: 2 ** 20,
  maxUnfinishedCount: 10_000,
  maxLeaseCount: 100_000,
  maxSessions: 10_000,
};
