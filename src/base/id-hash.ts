import { randomInt } from 'node:crypto';

const KEY_RANGE = 2 ** 32;
/** The largest range of `randomInt`. */
const SEED_RANGE = 2 ** 48 - 1;
const FINAL_ROUNDS = 3;

export function randomSeed(): number {
  return randomInt(SEED_RANGE);
}

/**
 * A number from 0 to 2^32 - 1: the keyed hash HalfSipHash-1-3. A caller that does not know the seed cannot choose ids
 * with equal hashes.
 */
export function hashId(bytes: Uint8Array, from: number, length: number, seed: number): number {
  const key0 = seed | 0;
  const key1 = Math.floor(seed / KEY_RANGE) | 0;
  let v0 = key0;
  let v1 = key1;
  let v2 = 0x6c796765 ^ key0;
  let v3 = 0x74656462 ^ key1;
  const words = length >> 2;
  for (let index = 0; index <= words + FINAL_ROUNDS; index++) {
    const word =
      index < words ? wordAt(bytes, from + 4 * index) : index === words ? lastWord(bytes, from, length) : 0;
    v3 ^= word;
    v0 = (v0 + v1) | 0;
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
    v0 = (v0 << 16) | (v0 >>> 16);
    v2 = (v2 + v3) | 0;
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
    v0 = (v0 + v3) | 0;
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
    v2 = (v2 + v1) | 0;
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
    v2 = (v2 << 16) | (v2 >>> 16);
    v0 ^= word;
    if (index === words) v2 ^= 0xff;
  }
  return (v1 ^ v3) >>> 0;
}

function wordAt(bytes: Uint8Array, at: number): number {
  return (
    (bytes[at] as number) |
    ((bytes[at + 1] as number) << 8) |
    ((bytes[at + 2] as number) << 16) |
    ((bytes[at + 3] as number) << 24)
  );
}

/** The bytes after the last whole word, and the length in the highest byte. */
function lastWord(bytes: Uint8Array, from: number, length: number): number {
  let word = length << 24;
  for (let index = length & ~3; index < length; index++) {
    word |= (bytes[from + index] as number) << (8 * (index & 3));
  }
  return word;
}
