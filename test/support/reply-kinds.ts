import { inspect } from 'node:util';

/** The reply as that kind; fails, showing what it was, if it is another. */
export function is<Reply extends { readonly kind: string }, Kind extends Reply['kind']>(
  kind: Kind,
  reply: Reply,
): Extract<Reply, { readonly kind: Kind }> {
  if (reply.kind !== kind) throw new Error(`expected ${kind}, got ${inspect(reply, { depth: 5 })}`);
  return reply as Extract<Reply, { readonly kind: Kind }>;
}
