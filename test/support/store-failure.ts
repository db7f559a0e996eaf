import { inspect } from 'node:util';
import { StoreFailure } from '../../src/base/errors';

/** The failure of a store call. Throws unless the call fails with a StoreFailure. */
export async function failureOf(call: Promise<unknown>): Promise<StoreFailure> {
  const result: unknown = await call.then(
    (reply) => reply,
    (error: unknown) => error,
  );
  if (result instanceof StoreFailure) return result;
  throw new Error(`expected a StoreFailure, got ${inspect(result)}`);
}
