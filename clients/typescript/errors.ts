import { status, type ServiceError } from '@grpc/grpc-js';
import type { CommandFailed } from '../../generated/typescript/holdfast/v1/session_service';
import { durationToMs } from './duration';
import { holdfastError } from './holdfast-error';
import { ownNames } from './server-texts';
import type { FieldViolation } from './status-details';

/** What an error says, apart from its text. */
export interface ErrorFacts {
  /**
   * An ErrorReason without its prefix, see docs/errors.md. Empty: the error comes from the gRPC library, and `code`
   * says more.
   */
  readonly reason: string;
  /** The gRPC status code. */
  readonly code: number;
  /** The facts that error_reason.proto lists for the reason, for example `holder_id`. */
  readonly metadata?: ReadonlyMap<string, string>;
  /** The delay before a retry (ms). Undefined: the server advises no retry. */
  readonly retryAfterMs?: number | undefined;
  /** All invalid fields of the request. */
  readonly violations?: readonly FieldViolation[];
}

/** The base of all errors of this package. Decide by the class or by `reason`, never by the text. */
export class HoldfastError extends Error {
  override readonly name: string = 'HoldfastError';
  readonly reason: string;
  readonly code: number;
  readonly metadata: ReadonlyMap<string, string>;
  readonly retryAfterMs: number | undefined;
  readonly violations: readonly FieldViolation[];

  constructor(message: string, facts: ErrorFacts, options?: ErrorOptions) {
    super(message, options);
    this.reason = facts.reason;
    this.code = facts.code;
    this.metadata = facts.metadata ?? new Map();
    this.retryAfterMs = facts.retryAfterMs;
    this.violations = facts.violations ?? [];
  }

  protected number(key: string): number {
    return Number(this.metadata.get(key) ?? 0);
  }
}

/** CONTENDED: the lock or the permits were not granted within the wait. Nothing is held. */
export class ContendedError extends HoldfastError {
  override readonly name = 'ContendedError';

  /** One current holder. Empty if the caller may not read the name. */
  get holderId(): string {
    return this.metadata.get('holder_id') ?? '';
  }

  get waiterCount(): number {
    return this.number('waiter_count');
  }
}

/** INVALID_FIELD, REQUEST_MISMATCH: the request is wrong. `violations` names the fields. */
export class InvalidRequestError extends HoldfastError {
  override readonly name = 'InvalidRequestError';
}

/** NO_CREDENTIAL, BAD_CREDENTIAL: the server does not know the caller, or the client has no token or certificate. */
export class CredentialError extends HoldfastError {
  override readonly name = 'CredentialError';
}

/** NOT_ALLOWED: the policy of the server refuses the call to this caller. */
export class NotAllowedError extends HoldfastError {
  override readonly name = 'NotAllowedError';
}

/** QUOTA_EXCEEDED, QUEUE_FULL, STORE_FULL: a bound is reached. */
export class LimitReachedError extends HoldfastError {
  override readonly name = 'LimitReachedError';
}

/** NO_SUCH_SEMAPHORE: the semaphore has no limit yet. */
export class NoSuchSemaphoreError extends HoldfastError {
  override readonly name = 'NoSuchSemaphoreError';
}

/** LIMIT_MISMATCH: the semaphore has another limit than the caller demands. */
export class LimitMismatchError extends HoldfastError {
  override readonly name = 'LimitMismatchError';

  /** The limit in force. */
  get limit(): number {
    return this.number('limit');
  }

  /** The limit that the caller has demanded. */
  get expectedLimit(): number {
    return this.number('expected_limit');
  }
}

/** NEVER_FITS: more permits are wanted than the semaphore has. */
export class NeverFitsError extends HoldfastError {
  override readonly name = 'NeverFitsError';

  get limit(): number {
    return this.number('limit');
  }
}

/** NO_SUCH_DICTIONARY. */
export class NoSuchDictionaryError extends HoldfastError {
  override readonly name = 'NoSuchDictionaryError';
}

/** DICTIONARY_EXISTS: the dictionary has another profile. */
export class DictionaryExistsError extends HoldfastError {
  override readonly name = 'DictionaryExistsError';
}

/** IMPORT_CONFLICT: another import was committed first. This import changed nothing. */
export class ImportConflictError extends HoldfastError {
  override readonly name = 'ImportConflictError';
}

/**
 * No answer within the time limit, or an answer that does not say whether the call was carried out. `reason` has the
 * last reason. A new call with the same intent is safe for locks and permits: the client has released what it got.
 */
export class UnavailableError extends HoldfastError {
  override readonly name = 'UnavailableError';
}

/** The client is closed. */
export class ClosedError extends HoldfastError {
  override readonly name = 'ClosedError';

  constructor() {
    super('the client is closed', { reason: 'CLOSED', code: status.CANCELLED });
  }
}

type ErrorClass = new (message: string, facts: ErrorFacts, options?: ErrorOptions) => HoldfastError;

const CLASSES: Readonly<Record<string, ErrorClass>> = {
  CONTENDED: ContendedError,
  INVALID_FIELD: InvalidRequestError,
  REQUEST_MISMATCH: InvalidRequestError,
  NO_CREDENTIAL: CredentialError,
  BAD_CREDENTIAL: CredentialError,
  NOT_ALLOWED: NotAllowedError,
  QUOTA_EXCEEDED: LimitReachedError,
  QUEUE_FULL: LimitReachedError,
  STORE_FULL: LimitReachedError,
  NO_SUCH_SEMAPHORE: NoSuchSemaphoreError,
  LIMIT_MISMATCH: LimitMismatchError,
  NEVER_FITS: NeverFitsError,
  NO_SUCH_DICTIONARY: NoSuchDictionaryError,
  DICTIONARY_EXISTS: DictionaryExistsError,
  IMPORT_CONFLICT: ImportConflictError,
};

/** An error without a class of its own has the class of its code. */
function classOf({ reason, code }: ErrorFacts): ErrorClass {
  const known = CLASSES[reason];
  if (known) return known;
  if (code === status.UNAVAILABLE || code === status.DEADLINE_EXCEEDED) return UnavailableError;
  if (code === status.UNAUTHENTICATED) return CredentialError;
  if (code === status.PERMISSION_DENIED) return NotAllowedError;
  if (code === status.RESOURCE_EXHAUSTED) return LimitReachedError;
  if (code === status.INVALID_ARGUMENT) return InvalidRequestError;
  return HoldfastError;
}

export function errorOf(message: string, facts: ErrorFacts, options?: ErrorOptions): HoldfastError {
  return new (classOf(facts))(message, facts, options);
}

/** The error of one command of a session. */
export function errorOfCommand(failed: CommandFailed): HoldfastError {
  const { code, reasonText: reason, message, metadata, retryDelay, violations } = failed;
  const retryAfterMs = retryDelay && durationToMs(retryDelay);
  return errorOf(ownNames(message), { reason, code, metadata, retryAfterMs, violations: own(violations) });
}

/** The error of a call or a stream. Undefined: the stream ended with status OK. */
export function errorOfCall(error: ServiceError | HoldfastError | undefined): HoldfastError {
  if (error instanceof HoldfastError) return error;
  const text = error?.details || error?.message || 'the stream ended without a reason';
  const code = error?.code ?? status.UNAVAILABLE;
  const fault = holdfastError(error);
  if (fault === undefined) return errorOf(text, { code, reason: '' });
  return errorOf(ownNames(text), { code, ...fault, violations: own(fault.violations) });
}

/** The path of the field stays as in the contract, because a program may read it. */
function own(violations: readonly FieldViolation[]): FieldViolation[] {
  return violations.map(({ field, description }) => ({ field, description: ownNames(description) }));
}

/** The text of whatever a function of the caller has thrown, or has rejected with. */
export function textOf(thrown: unknown): string {
  if (typeof thrown === 'string') return thrown;
  const message = messageOf(thrown);
  return typeof message === 'string' ? message : `it threw ${thrown === null ? 'null' : typeof thrown}`;
}

/** An error may come from another realm, so its class says nothing. Its getters may throw too. */
function messageOf(thrown: unknown): unknown {
  try {
    return (thrown as { message?: unknown } | null | undefined)?.message;
  } catch {
    return undefined;
  }
}

const REFUSALS: ReadonlySet<number> = new Set([status.UNAUTHENTICATED, status.PERMISSION_DENIED]);

/** No answer came in time. If the servers refuse the client, the error has the class of the refusal. */
export function noAnswer(what: string, last?: HoldfastError): HoldfastError {
  const code = last && REFUSALS.has(last.code) ? last.code : status.UNAVAILABLE;
  const text = last ? `${what}: ${last.message}` : what;
  return errorOf(text, { reason: last?.reason || 'NO_ANSWER', code }, last && { cause: last });
}

/** Who noticed that a lease is lost. */
export type NoticedBy = 'client' | 'server';

/** Why a lease is over. */
export type LossCause =
  /** The deadline on the own clock has passed. */
  | 'DEADLINE'
  /** The lease was held for longer than the option `maxHold` allows. */
  | 'MAX_HOLD'
  /** The client was closed while it held the lease. Close has released the lease. */
  | 'CLOSED'
  /** The server has answered that the lease is not held. */
  | 'LEASE_NOT_HELD'
  /** The lease was not renewed in time. */
  | 'EXPIRED'
  /** An operator or a new policy revoked the lease. */
  | 'REVOKED'
  /** The store has lost the lease. */
  | 'STORE_RESET'
  /** The store was not reached for a renewal in time. */
  | 'STORE_UNAVAILABLE'
  /**
   * The lease was released. A loss if somebody else did so with the `lease_id`. After a `release` of this lease the cause
   * is the reason of `signal`, and no loss.
   */
  | 'RELEASED'
  /** Another session has attached to the lease. */
  | 'SUPERSEDED'
  /** The server gives no cause, or a cause that this version does not know. */
  | 'UNRECOGNIZED';

/** The lease is over: stop the work that it protects. The reason of `lease.signal`. */
export class LeaseLostError extends HoldfastError {
  override readonly name = 'LeaseLostError';
  /** What kept the client from a renewal before DEADLINE, for example a silent server. Undefined: not known. */
  readonly why: string | undefined;

  constructor(
    /** The name of the lock or the semaphore. */
    readonly resource: string,
    readonly lossCause: LossCause,
    options?: ErrorOptions & { readonly why?: string | undefined },
  ) {
    super(
      `the lease of ${JSON.stringify(resource)} is over: ${LOSS_TEXTS[lossCause]}${options?.why ? `: ${options.why}` : ''}`,
      { reason: 'LEASE_LOST', code: status.ABORTED, metadata: new Map([['cause', lossCause]]) },
      options,
    );
    this.why = options?.why;
  }

  get noticedBy(): NoticedBy {
    return NOTICED_HERE.has(this.lossCause) ? 'client' : 'server';
  }
}

const NOTICED_HERE: ReadonlySet<LossCause> = new Set(['DEADLINE', 'MAX_HOLD', 'CLOSED']);

const LOSS_TEXTS: Readonly<Record<LossCause, string>> = {
  DEADLINE: 'its deadline passed without a renewal',
  MAX_HOLD: 'it was held for longer than maxHold',
  CLOSED: 'the client was closed',
  LEASE_NOT_HELD: 'the server no longer knows it',
  EXPIRED: 'it was not renewed in time',
  REVOKED: 'an operator or a new policy revoked it',
  STORE_RESET: 'the store lost it',
  STORE_UNAVAILABLE: 'the store was not reached in time',
  RELEASED: 'it was released',
  SUPERSEDED: 'another session attached to it',
  UNRECOGNIZED: 'the server ended it for an unknown reason',
};
