/** The shard of a folded text. All texts with the same first two code points are in the same shard. */
export function shardOf(folded: string, shards: number): number {
  let hash = 0;
  for (const character of [...folded].slice(0, 2)) {
    hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x9e3779b1);
    hash ^= hash >>> 15;
  }
  return (hash >>> 0) % shards;
}
