import type { Lease } from './lease';
import type { SessionError } from './session-error';

/** What happens to the sessions of a client, for its log. */
export type SessionNews =
  | { readonly kind: 'started' | 'leaving'; readonly address: string }
  | { readonly kind: 'ended'; readonly address: string; readonly error: SessionError }
  | { readonly kind: 'attached'; readonly address: string; readonly lease: Lease }
  | { readonly kind: 'renewalFailed'; readonly lease: Lease };
