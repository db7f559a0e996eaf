import crypto, { randomInt } from 'node:crypto';

/**
 * C0 and C1 controls, DEL, controls of the direction of text, all other invisible characters, the line and paragraph
 * separators, and surrogates without a partner. These characters can move the cursor of a terminal, end a line of a log,
 * show a text in another order than it has, or make two different texts look the same.
 */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** JSON text with the same value, in which no character can deceive a reader. Line breaks between the values stay. */
export function escapeJson(json: string): string {
  // JSON.stringify escapes C0 controls in texts. Those that are left are layout.
  return json.replace(UNSAFE, (character) => (character < ' ' ? character : jsonEscapes(character)));
}

/** A code point beyond U+FFFF has two escapes. */
function jsonEscapes(character: string): string {
  let escapes = '';
  for (let i = 0; i < character.length; i += 1) {
    escapes += `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`;
  }
  return escapes;
}

/** Makes a client's text safe for logs and terminals. An unsafe character becomes `\u{…}` with its code point. */
export function escapeText(text: string): string {
  return text.replace(UNSAFE, (character) => `\\u{${(character.codePointAt(0) as number).toString(16)}}`);
}

/** Spans of time in error texts: "400 ms", "1.5 s", "21 s", "2 min". */

const UNITS = [
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1000, 's'],
] as const;

/** The exact span, in the largest unit that gives a whole number. Seconds may have one decimal. */
export function timeSpan(ms: number): string {
  for (const [size, unit] of UNITS) {
    if (ms !== 0 && ms % size === 0) return `${ms / size} ${unit}`;
  }
  return Math.abs(ms) > 1000 && ms % 100 === 0 ? `${ms / 1000} s` : `${ms} ms`;
}

/** A measured span, rounded to a precision that fits its size. A negative span counts as 0. */
export function roundedTimeSpan(ms: number): string {
  const step = ms < 1000 ? 1 : ms < 10_000 ? 100 : ms < 600_000 ? 1000 : 60_000;
  return timeSpan(Math.max(0, Math.round(ms / step)) * step);
}

/** The SHA-256 of a text in hexadecimal. */
export const sha256: (text: string) => string =
  // Node 20.12 and later have this function, which takes half the time of a hash object.
  typeof crypto.hash === 'function'
    ? (text) => crypto.hash('sha256', text, 'hex')
    : (text) => crypto.createHash('sha256').update(text).digest('hex');

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
