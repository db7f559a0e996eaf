import { inspect } from 'node:util';
import { StoreFailure } from '../../src/base/errors';

/** Returns a reply of this kind. Throws an error with the reply if the kind differs. */
export function is<Reply extends { readonly kind: string }, Kind extends Reply['kind']>(
  kind: Kind,
  reply: Reply,
): Extract<Reply, { readonly kind: Kind }> {
  if (reply.kind !== kind) throw new Error(`expected ${kind}, got ${inspect(reply, { depth: 5 })}`);
  return reply as Extract<Reply, { readonly kind: Kind }>;
}

/** The failure of a store call. Throws unless the call fails with a StoreFailure. */
export async function failureOf(call: Promise<unknown>): Promise<StoreFailure> {
  const result: unknown = await call.then(
    (reply) => reply,
    (error: unknown) => error,
  );
  if (result instanceof StoreFailure) return result;
  throw new Error(`expected a StoreFailure, got ${inspect(result)}`);
}
