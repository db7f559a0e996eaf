import { LeaseLostError } from '../errors';
import type { Lease } from '../sessions/lease';

export type Body<T> = (lease: Lease) => Promise<T> | T;

/**
 * Runs the work, waits for its end, and releases the lease. If the lease was lost before the end of the work, rejects
 * with a LeaseLostError, and the error of the work is its `cause`. A failed release never hides the error of the work.
 */
export async function runUnderLease<T>(lease: Lease, body: Body<T>): Promise<T> {
  let result: T;
  try {
    result = await body(lease);
  } catch (error) {
    const { loss } = lease;
    await lease.leave();
    throw loss && loss !== error
      ? new LeaseLostError(loss.resource, loss.lossCause, { cause: error })
      : error;
  }
  const loss = lease.loss ?? (await lease.leave());
  if (loss === undefined) return result;
  await lease.leave();
  throw loss;
}
