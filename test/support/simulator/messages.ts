import type { LockMode, LossCause, Micros } from '../history';
import type { SimClient } from './client';

/** A call that may be granted, as a server receives it. */
export interface OpenCall {
  readonly id: string;
  readonly client: SimClient;
  readonly rpc: 'acquire' | 'hold' | 'attach';
  readonly name: string;
  readonly requestId: string;
  readonly leaseId: string | null;
  readonly permits: number;
  readonly mode: LockMode;
  readonly ttlUs: Micros;
  readonly waitTimeoutUs: Micros | null;
}

/** The id of a call, and the client that gets the answers. */
export type ClientCall = Pick<OpenCall, 'id' | 'client'>;

/** A renewal or a release. */
export interface LeaseCallMessage {
  readonly id: string;
  readonly client: SimClient;
  readonly leaseId: string;
  readonly ttlUs: Micros | null;
}

/** A server's answer or event on a call. */
export type Answer =
  | { readonly type: 'queued'; readonly position: number }
  | {
      readonly type: 'granted';
      readonly lease: string;
      readonly requestId: string;
      readonly token: number;
      readonly permitCount: number;
      readonly ttlUs: Micros;
      readonly expireOffsetUs: Micros;
    }
  | {
      readonly type: 'renewed';
      readonly lease: string;
      readonly ttlUs: Micros;
      readonly expireOffsetUs: Micros;
    }
  | { readonly type: 'renewal_failed'; readonly lease: string; readonly cause: LossCause }
  | { readonly type: 'released'; readonly lease: string }
  | { readonly type: 'lost'; readonly lease: string; readonly cause: LossCause }
  | {
      readonly type: 'release_answered';
      readonly lease: string;
      readonly released: boolean;
      readonly lossCause: LossCause | null;
    }
  | { readonly type: 'ended'; readonly code: string; readonly reason: string | null };
