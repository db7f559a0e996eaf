import { StoreFailure, type HoldfastError } from './errors';
import { outcomeUnknown, storeUnavailable, unconfirmed } from './store-errors';
import type { Quarantine, StoreOperations } from './store-health';
import { roundedTimeSpan } from './time-span';

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
    throw error instanceof StoreFailure ? notEnded(error) : error;
  }
  return { quarantine, risk: quarantine ? riskOf(quarantine) : '' };
}

function notEnded({ carriedOut, kind }: StoreFailure): HoldfastError {
  if (kind === 'unconfirmed') return unconfirmed('the end of the quarantine');
  return carriedOut === 'unknown'
    ? outcomeUnknown('the quarantine may have ended', 'repeat the call')
    : storeUnavailable();
}

function riskOf({ remainingMs }: Quarantine): string {
  return `for ${roundedTimeSpan(remainingMs)} more, a client may believe in a lease that the store has forgotten: a name may have two holders, and only fencing tokens protect the resource`;
}
