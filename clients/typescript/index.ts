export type { Entry, EntrySource } from './autocomplete/entries';
export type { Dictionary, ListedEntry, Profile, SuggestOptions } from './autocomplete/dictionary';
export type { RecentOptions, Recents, SuggestRecentsOptions } from './autocomplete/recents';
export type { MatchKind, Suggestion } from './autocomplete/suggestions';
export type { TypeAhead, TypeAheadOptions } from './autocomplete/type-ahead';
export type { CallLimits, Method } from './calls/call-channel';
export { connect, type ConnectOptions } from './connect';
export type { Addresses } from './connection/addresses';
export type { Pem, TlsOptions } from './connection/tls';
export type { BearerToken, TokenOption } from './connection/token';
export type { Election, Leader } from './election';
export {
  ClosedError,
  ContendedError,
  CredentialError,
  DictionaryExistsError,
  HoldfastError,
  ImportConflictError,
  InvalidRequestError,
  LeaseLostError,
  LimitMismatchError,
  LimitReachedError,
  NeverFitsError,
  NoSuchDictionaryError,
  NoSuchSemaphoreError,
  NotAllowedError,
  UnavailableError,
  type LossCause,
  type NoticedBy,
} from './errors';
export type { Holdfast, ServerInfo } from './holdfast';
export type {
  AcquireOptions,
  LockOptions,
  PermitsOptions,
  TryLockOptions,
  TryOptions,
  TryPermitsOptions,
} from './leases/options';
export type { Metadata } from './leases/metadata';
export type { Body } from './leases/run-under-lease';
export type { QueuePlace } from './sessions/acquire-intent';
export type { Lease, ReleaseAnswer } from './sessions/lease';
export type { FieldViolation } from './status-details';
export type { Logger, Span, Tracer } from './telemetry';
export type { TimeSpan } from './time-span';
export { deadline } from './deadline';
export { duration } from './duration';
export { holdfastError, type HoldfastFault } from './holdfast-error';
