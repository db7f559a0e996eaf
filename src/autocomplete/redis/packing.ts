/**
 * The part of msgpack that Redis's cmsgpack and the store exchange: arrays, texts or bytes, and whole numbers. A text of
 * cmsgpack is bytes here, because records are bytes.
 */

export type Packable = string | Uint8Array | number | readonly Packable[];
export type Unpacked = Buffer | number | Unpacked[];

/** A number in floating point follows in 4 or 8 bytes. `pack` writes 8 bytes, which hold each whole number up to 2^53. */
const FLOAT_32 = 0xca;
const NUMBER = 0xcb;
const NUMBER_BYTES = 9;
/** A whole number follows in 1, 2, 4 or 8 bytes. */
const UNSIGNED_8 = 0xcc;
const UNSIGNED_16 = 0xcd;
const UNSIGNED_32 = 0xce;
const UNSIGNED_64 = 0xcf;
const SIGNED_8 = 0xd0;
const SIGNED_16 = 0xd1;
const SIGNED_32 = 0xd2;
const SIGNED_64 = 0xd3;
/**
 * A whole number from 0 to below the first bound is one byte. A number from -32 to -1 is also one byte, not below the
 * second bound.
 */
const SMALL_NUMBER_BOUND = 0x80;
const SMALL_NEGATIVE = 0xe0;
const BYTE_VALUES = 0x100;
/** A length follows in 1, 2 or 4 bytes. */
const TEXT_32 = 0xdb;
const TEXT_16 = 0xda;
const TEXT_8 = 0xd9;
const ARRAY_16 = 0xdc;
const ARRAY_32 = 0xdd;
/** The bytes of the longest head of a text or an array. */
const MOST_HEAD_BYTES = 5;
/** The length is in the low bits of the same byte. */
const SHORT_TEXT = 0xa0;
const SHORT_TEXT_BOUND = 0x20;
const SHORT_ARRAY = 0x90;
const SHORT_ARRAY_BOUND = 0x10;

export function pack(value: Packable): Buffer {
  const packed = Buffer.allocUnsafe(packedBytes(value));
  write(packed, value, 0);
  return packed;
}

/** An upper bound of the packed size of a text or of bytes. */
export function packedTextBytes(value: string | Uint8Array): number {
  return MOST_HEAD_BYTES + (typeof value === 'string' ? Buffer.byteLength(value) : value.length);
}

function packedBytes(value: Packable): number {
  if (typeof value === 'number') return NUMBER_BYTES;
  if (typeof value === 'string' || value instanceof Uint8Array) {
    const size = typeof value === 'string' ? Buffer.byteLength(value) : value.length;
    return headBytes(size) + size;
  }
  return value.reduce<number>((sum, one) => sum + packedBytes(one), MOST_HEAD_BYTES);
}

function headBytes(size: number): number {
  if (size < SHORT_TEXT_BOUND) return 1;
  if (size <= 0xff) return 2;
  return size <= 0xffff ? 3 : 5;
}

/** Returns the position after the value. */
function write(target: Buffer, value: Packable, at: number): number {
  if (typeof value === 'number') {
    target[at] = NUMBER;
    return target.writeDoubleBE(value, at + 1);
  }
  if (typeof value === 'string') return writeText(target, value, at);
  if (value instanceof Uint8Array) {
    const start = writeHead(target, value.length, at);
    target.set(value, start);
    return start + value.length;
  }
  target[at] = ARRAY_32;
  let end = target.writeUInt32BE(value.length, at + 1);
  for (const one of value) end = write(target, one, end);
  return end;
}

function writeText(target: Buffer, text: string, at: number): number {
  const start = writeHead(target, Buffer.byteLength(text), at);
  return start + target.write(text, start);
}

function writeHead(target: Buffer, size: number, at: number): number {
  if (size < SHORT_TEXT_BOUND) return target.writeUInt8(SHORT_TEXT + size, at);
  if (size <= 0xff) return target.writeUInt8(size, target.writeUInt8(TEXT_8, at));
  if (size <= 0xffff) return target.writeUInt16BE(size, target.writeUInt8(TEXT_16, at));
  return target.writeUInt32BE(size, target.writeUInt8(TEXT_32, at));
}

/** Reads values one after the other. Texts and bytes are parts of `bytes`, not copies. */
export class PackReader {
  #at = 0;
  readonly #bytes: Buffer;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  value(): Unpacked {
    const kind = this.#bytes.readUInt8(this.#at);
    if (kind < SMALL_NUMBER_BOUND) return this.#take(1, kind);
    if (kind >= SMALL_NEGATIVE) return this.#take(1, kind - BYTE_VALUES);
    if (kind < SHORT_ARRAY + SHORT_ARRAY_BOUND && kind >= SHORT_ARRAY) {
      return this.#values(this.#take(1, kind - SHORT_ARRAY));
    }
    if (kind < SHORT_TEXT + SHORT_TEXT_BOUND && kind >= SHORT_TEXT) {
      return this.#text(this.#take(1, kind - SHORT_TEXT));
    }
    return this.#longValue(kind);
  }

  #longValue(kind: number): Unpacked {
    const [bytes, at] = [this.#bytes, this.#at + 1];
    switch (kind) {
      case TEXT_8:
        return this.#text(this.#take(2, bytes.readUInt8(at)));
      case TEXT_16:
        return this.#text(this.#take(3, bytes.readUInt16BE(at)));
      case TEXT_32:
        return this.#text(this.#take(5, bytes.readUInt32BE(at)));
      case ARRAY_16:
        return this.#values(this.#take(3, bytes.readUInt16BE(at)));
      case ARRAY_32:
        return this.#values(this.#take(5, bytes.readUInt32BE(at)));
      case UNSIGNED_8:
        return this.#take(2, bytes.readUInt8(at));
      case UNSIGNED_16:
        return this.#take(3, bytes.readUInt16BE(at));
      case UNSIGNED_32:
        return this.#take(5, bytes.readUInt32BE(at));
      case UNSIGNED_64:
        return this.#take(9, Number(bytes.readBigUInt64BE(at)));
      case SIGNED_8:
        return this.#take(2, bytes.readInt8(at));
      case SIGNED_16:
        return this.#take(3, bytes.readInt16BE(at));
      case SIGNED_32:
        return this.#take(5, bytes.readInt32BE(at));
      case SIGNED_64:
        return this.#take(9, Number(bytes.readBigInt64BE(at)));
      case FLOAT_32:
        return this.#take(5, bytes.readFloatBE(at));
      case NUMBER:
        return this.#take(9, bytes.readDoubleBE(at));
    }
    throw new Error(`unknown kind of a packed value: ${kind}`);
  }

  #take(bytes: number, value: number): number {
    this.#at += bytes;
    return value;
  }

  #text(size: number): Buffer {
    this.#at += size;
    if (this.#at > this.#bytes.length) throw new Error('a packed text is cut off');
    return this.#bytes.subarray(this.#at - size, this.#at);
  }

  #values(count: number): Unpacked[] {
    return Array.from({ length: count }, () => this.value());
  }
}
