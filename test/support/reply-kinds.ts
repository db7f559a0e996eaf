import { inspect } from 'node:util';

/** Returns the reply if it is of this kind; else throws an error that shows the reply. */
export function is<Reply extends { readonly kind: string }, Kind extends Reply['kind']>(
  kind: Kind,
  reply: Reply,
): Extract<Reply, { readonly kind: Kind }> {
  if (reply.kind !== kind) throw new Error(`expected ${kind}, got ${inspect(reply, { depth: 5 })}`);
  return reply as Extract<Reply, { readonly kind: Kind }>;
}
