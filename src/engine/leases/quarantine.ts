import { HoldfastError, StoreFailure } from '../errors';
import { span } from './outcomes';
import type { Quarantine, StoreOperations } from '../store-health';

export interface EndedQuarantine {
  /** What it had left; undefined: there was none. */
  readonly quarantine: Quarantine | undefined;
  /** What may go wrong from here on; empty: nothing. */
  readonly risk: string;
}

/** The operator's word that no lease is believed which the store has forgotten, or that the risk is worth it. */
export async function endQuarantine(operations: StoreOperations): Promise<EndedQuarantine> {
  let quarantine: Quarantine | undefined;
  try {
    quarantine = await operations.endQuarantine();
  } catch (error) {
    if (!(error instanceof StoreFailure)) throw error;
    throw error.carriedOut === 'unknown'
      ? new HoldfastError(
          'OUTCOME_UNKNOWN',
          'the store did not answer: the quarantine may have ended; repeat it',
        )
      : new HoldfastError(
          'STORE_UNAVAILABLE',
          'the store does not take commands: nothing was done; try again',
        );
  }
  return { quarantine, risk: quarantine ? riskOf(quarantine) : '' };
}

function riskOf({ remainingMs }: Quarantine): string {
  return `a lease that the store has forgotten may be believed by its holder for ${span(remainingMs)} more: until then one name may have two holders, and only fencing tokens protect what it is for`;
}
