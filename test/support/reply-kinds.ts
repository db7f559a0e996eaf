import { inspect } from 'node:util';

/** Returns a reply of this kind. Throws an error with the reply if the kind differs. */
export function is<Reply extends { readonly kind: string }, Kind extends Reply['kind']>(
  kind: Kind,
  reply: Reply,
): Extract<Reply, { readonly kind: Kind }> {
  if (reply.kind !== kind) throw new Error(`expected ${kind}, got ${inspect(reply, { depth: 5 })}`);
  return reply as Extract<Reply, { readonly kind: Kind }>;
}
