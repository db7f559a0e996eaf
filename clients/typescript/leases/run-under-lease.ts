import { LeaseLostError } from '../errors';
import type { Lease } from '../sessions/lease';

export type Body<T> = (lease: Lease) => Promise<T> | T;

/**
 * Runs the work, waits for its end, and releases the lease. If the lease was lost before the end of the work, rejects at
 * once with a LeaseLostError, and the error of the work is its `cause`. The release then goes on in the background. A
 * failed release never hides the error of the work.
 */
export async function runUnderLease<T>(lease: Lease, body: Body<T>): Promise<T> {
  const before = lease.beginWork();
  if (before) {
    await lease.finish();
    throw before;
  }
  let result: T;
  try {
    result = await body(lease);
  } catch (error) {
    const { loss } = lease;
    await lease.finish();
    throw loss && loss !== error
      ? new LeaseLostError(loss.resource, loss.lossCause, { cause: error, why: loss.why })
      : error;
  }
  const loss = await lease.finish();
  if (loss) throw loss;
  return result;
}

/** The arguments of a function with optional options before its body. */
export function optionsAndBody<Options extends object, Run>(
  second: Options | Run,
  third: Run | undefined,
): [Options, Run] {
  const isAlone = typeof second === 'function' && third === undefined;
  const [options, body] = (isAlone ? [{}, second] : [second, third]) as [Options, Run];
  if (typeof body !== 'function') throw new TypeError('the last argument must be a function');
  return [options, body];
}
