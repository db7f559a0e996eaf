import type { LossCause, Micros } from '../history';
import type { Attachment } from './resource';

export interface AcquireRequest {
  readonly name: string;
  readonly requestId: string;
  readonly attachment: Attachment;
  readonly permits: number;
  readonly ttlUs: Micros;
  /** False if the request tries once. */
  readonly queue: boolean;
  /** True for a stream, which takes over and renews a lease that the request already holds. */
  readonly stream: boolean;
  /** The ticket that the server remembers, or null. */
  readonly ticket: number | null;
}

export interface LeaseReply {
  readonly state: 'held';
  readonly requestId: string;
  readonly leaseId: string;
  readonly token: number;
  readonly permits: number;
  readonly ttlUs: Micros;
  readonly remainingUs: Micros;
  /** True if an earlier call of the request may have delivered the lease. Then no call may give the lease back. */
  readonly known: boolean;
}

export type AcquireReply =
  | LeaseReply
  | {
      readonly state: 'queued';
      readonly ticket: number;
      readonly position: number;
      readonly nextEndInUs: Micros;
    }
  | { readonly state: 'refused' | 'finished' | 'superseded' | 'gone' };

export type RenewReply =
  | LeaseReply
  | { readonly state: 'superseded' }
  | { readonly state: 'ended'; readonly cause: LossCause | 'RELEASED' | null };

export interface TouchReply {
  /** The requests that were offered permits or hold them. */
  readonly offers: readonly string[];
  readonly gone: readonly string[];
  /** The requests with a newer call. */
  readonly superseded: readonly string[];
  /** The time until the earliest lease of the name ends. */
  readonly nextEndInUs: Micros;
}
