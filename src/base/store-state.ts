import { HoldfastError, StoreFailure } from './errors';
import { roundedTimeSpan } from './text';

/** The errors for a `StoreFailure`. All products and `rpc` share these texts. */

function nothingDone(subject: string | undefined): string {
  return subject === undefined ? 'nothing was done' : `nothing was done for ${subject}`;
}

function storeUnavailable(subject: string | undefined): HoldfastError {
  const text = `the store does not take commands: ${nothingDone(subject)}; try again`;
  return new HoldfastError('STORE_UNAVAILABLE', text);
}

function storeOverloaded(subject: string | undefined): HoldfastError {
  return new HoldfastError(
    'OVERLOADED',
    `the store has too much work to answer in time: ${nothingDone(subject)}; try again later, with fewer calls at a time`,
  );
}

export function grantsPaused(subject: string, remainingMs: number): HoldfastError {
  return new HoldfastError(
    'QUARANTINED',
    `grants of ${subject} are paused for ${roundedTimeSpan(remainingMs)} more, because the store may have forgotten leases; try again after this time (renewals and releases still work)`,
    { retryAfterMs: remainingMs },
  );
}

/** `effect`: the part of the work that was done. `advice`: the caller's next step. */
export function storeFull(effect: string, advice: string): HoldfastError {
  return new HoldfastError('STORE_FULL', `the store is out of memory: ${effect}; ${advice}`);
}

/** The error for a change that the master of the store has, and that the replicas may not have. */
function unconfirmed(subject: string): HoldfastError {
  return new HoldfastError(
    'OUTCOME_UNKNOWN',
    `the store has carried out the request for ${subject}, but its replicas have not confirmed the change: a failover of the store may undo the change; repeat the call`,
  );
}

/** `effect`: the work that may have been done. `advice`: the caller's next step. */
export function outcomeUnknown(effect: string, advice: string, requestId?: string): HoldfastError {
  return new HoldfastError('OUTCOME_UNKNOWN', `the store did not answer: ${effect}; ${advice}`, {
    metadata: requestId === undefined ? {} : { request_id: requestId },
  });
}

/** What an error says of the work that failed. */
export interface FailedWork {
  /** The affected name. Undefined: the call names no resource. */
  readonly subject?: string | undefined;
  /** The error if the work may have been carried out. Undefined: the work has no effect, so nothing was done then. */
  readonly unknown?: ((failure: StoreFailure) => HoldfastError) | undefined;
  /** The caller's next step if the store is out of memory. Undefined: the work needs no memory. */
  readonly whenFull?: string | undefined;
}

/** The caller's error for a store failure. Any other error is a defect and is returned unchanged. */
export function translated(failure: unknown, { subject, unknown, whenFull }: FailedWork): unknown {
  if (!(failure instanceof StoreFailure)) return failure;
  const { carriedOut, kind, retryAfterMs } = failure;
  if (kind === 'unconfirmed') return unconfirmed(subject ?? 'this call');
  if (carriedOut === 'unknown' && unknown !== undefined) return unknown(failure);
  if (kind === 'overloaded') return storeOverloaded(subject);
  if (kind === 'quarantined') return grantsPaused(subject ?? 'all names', retryAfterMs ?? 0);
  if (kind === 'full' && whenFull !== undefined) return storeFull(nothingDone(subject), whenFull);
  return storeUnavailable(subject);
}

/** The ports to the store as a whole: its health, and the operations for an operator. */

/** Shows whether the store answers and is safe to use. Health checks and GetServerInfo read these fields. */
export interface StoreHealth {
  readonly reachable: boolean;
  /** False if the store's configuration may drop leases. The server must not report ready then. */
  readonly suitable: boolean;
  /** One sentence for an operator about each dangerous setting of the store. */
  readonly warnings: readonly string[];
  /**
   * True if every node that answers carries out operations by a library of functions. False: a node runs scripts, at a higher
   * cost. Undefined: no node answers.
   */
  readonly hasLibrary: boolean | undefined;
  /** Set while grants are paused, because the store may have forgotten leases that clients still believe in. */
  readonly quarantine: Quarantine | undefined;
  onChange(listener: () => void): void;
}

export interface Quarantine {
  readonly remainingMs: number;
  readonly cause: QuarantineCause;
}

/**
 * 'forgotten': the store has no data of Holdfast, for example after FLUSHALL or at first use. 'restarted': Redis
 * restarted or was replaced, and may have lost its last writes. 'clock': the clock of Redis stepped forward, so leases
 * may end early.
 */
export type QuarantineCause = 'forgotten' | 'restarted' | 'clock';

export interface StoreOperations {
  /** Resolves to the quarantine that ended. Undefined: there was no quarantine. Rejects with a `StoreFailure`. */
  endQuarantine(): Promise<Quarantine | undefined>;
}

export interface EndedQuarantine {
  /** The quarantine that ended. Undefined: there was no quarantine. */
  readonly quarantine: Quarantine | undefined;
  /** The risk after the early end, as a sentence. Empty: there is no risk. */
  readonly risk: string;
}

/** Ends a quarantine early. The operator asserts that no lease was lost, or accepts the risk. */
export async function endQuarantine(operations: StoreOperations): Promise<EndedQuarantine> {
  let quarantine: Quarantine | undefined;
  try {
    quarantine = await operations.endQuarantine();
  } catch (error) {
    if (error instanceof StoreFailure && error.kind === 'unconfirmed') {
      throw unconfirmed('the end of the quarantine');
    }
    const unknown = () => outcomeUnknown('the quarantine may have ended', 'repeat the call');
    throw translated(error, { unknown });
  }
  return { quarantine, risk: quarantine ? riskOf(quarantine) : '' };
}

function riskOf({ remainingMs }: Quarantine): string {
  return `for ${roundedTimeSpan(remainingMs)} more, a client may believe in a lease that the store has forgotten: a name may have two holders, and only fencing tokens protect the resource`;
}
