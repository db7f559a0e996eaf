export { deadline } from './deadline';
export { duration } from './duration';
export { holdfastError, type HoldfastFault } from './holdfast-error';
export type { AcquireOptions, LockOptions, PermitsOptions, QueuePlace } from './sessions/acquire-intent';
export type { Lease, ReleaseAnswer } from './sessions/lease';
export {
  openSession,
  type BearerToken,
  type SessionClient,
  type SessionOptions,
} from './sessions/session-client';
export { LeaseLostError, SessionError, type LossCause } from './sessions/session-error';
export type { SessionNews } from './sessions/session-news';
