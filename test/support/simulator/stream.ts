import type { Micros } from '../history';
import type { OpenCall } from './messages';
import type { Attachment } from './resource';
import type { LeaseReply } from './store-replies';

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
