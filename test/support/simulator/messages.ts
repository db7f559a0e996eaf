import type { LockMode, LossCause, Micros } from '../history';
import type { SimClient } from './client';
import type { ManualLoop } from './loop';
import type { Attachment } from './resource';

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

/** The time for which a server waits for a reply. Afterwards, the outcome of the command is unknown. */
export const COMMAND_TIMEOUT: Micros = 2_000_000;

/** A connection to the store, which keeps the order of scripts and the order of replies. */
export interface StoreLink {
  toStore(script: () => void): void;
  fromStore(deliver: () => void): void;
  /** Starts a timer of the sending process. */
  after(delay: Micros, work: () => void): void;
}

type OnReply<Reply> = (reply: Reply, sentAt: Micros) => void;

/** Sends scripts. A script without a reply in time fails with an unknown outcome, because the script may still run. */
export class StoreCommands {
  constructor(
    private readonly loop: ManualLoop,
    private readonly link: StoreLink,
  ) {}

  send<Reply>(
    script: () => Reply,
    onReply: OnReply<Reply> = noReply,
    onFailure: () => void = noReply,
    timeout: Micros = COMMAND_TIMEOUT,
  ): void {
    const sentAt = this.loop.now;
    let settled = false;
    const settle = (then: () => void) => {
      if (settled) return;
      settled = true;
      then();
    };
    this.link.toStore(() => {
      const reply = script();
      this.link.fromStore(() => settle(() => onReply(reply, sentAt)));
    });
    this.link.after(timeout, () => settle(onFailure));
  }

  /** Sends a script that may grant. The script does nothing after its caller has timed out. */
  sendGranting<Reply>(script: () => Reply, onReply: OnReply<Reply>, onFailure?: () => void): void {
    const notAfter = this.loop.now + COMMAND_TIMEOUT;
    const guarded = () => (this.loop.now > notAfter ? null : script());
    this.send(guarded, (reply, sentAt) => reply !== null && onReply(reply, sentAt), onFailure);
  }
}

function noReply(): void {
  // The caller ignores the result.
}

/** The assumed bound on the difference of clock rates. */
const RATE = 0.0005;

/** A call that waits for a lease or holds a lease. */
export interface Stream {
  readonly call: OpenCall;
  readonly attachment: Attachment;
  /** The start of the call's handler, from which offsets count. */
  readonly openedAt: Micros;
  /** `asking`: a command about the request is in flight. */
  state: 'asking' | 'waiting' | 'held' | 'over';
  ticket: number | null;
  lease: LeaseReply | null;
  /** The end by the last answered renewal, on this server's clock. */
  confirmedEnd: Micros;
  /** True if a renewal is unanswered. */
  unconfirmed: boolean;
}

/** The offset by `docs/design/leases.md`, rule 1. `sentAt` is the send of the command that was answered. */
export function expireOffset(openedAt: Micros, sentAt: Micros, remainingUs: Micros): Micros {
  return Math.floor((sentAt - openedAt + remainingUs) * (1 - RATE));
}
