import { HoldfastError } from '../base/errors';
import { FieldWalk, LENGTH_DELIMITED } from './field-walk';

/** The bounds of a message's lists, by field number. */
export type ListBounds = ReadonlyMap<number, FieldBounds>;

interface FieldBounds {
  /** The contract's bound of a repeated field. */
  readonly maxItems?: number;
  /** The bounds inside the field's message. */
  readonly inside?: ListBounds;
}

/** Three times the fields of the largest valid request: 1000 entries with 16 aliases. Leaves room for later fields. */
const MAX_FIELDS = 65_536;

interface Decoder<Message> {
  decode(input: Uint8Array): Message;
}

/**
 * Decodes messages with the generated code, but reads no list beyond its bound: an empty item takes 2 bytes in a
 * request and 300 bytes in memory. A list that is too long gets one item above its bound, and the message ends there,
 * so that the field checks refuse the message. Throws if a message has more fields than any client writes.
 */
export function boundedDecoder<Message>(
  { decode }: Decoder<Message>,
  bounds: ListBounds,
): (bytes: Buffer) => Message {
  return (bytes) => decode(new ListSkim(bytes).cut(bytes.length, bounds)?.() ?? bytes);
}

/** A checked message that is too large to be decoded on the main thread. */
export class UndecodedMessage {
  constructor(readonly bytes: Buffer) {}
}

/** The error of a checked message that the generated code cannot decode later. */
export function undecodableRequest(): HoldfastError {
  return new HoldfastError('INTERNAL', 'the request is not a valid message');
}

/** The work for a message of this size takes less than 1 ms, also before its code is compiled. */
export const MOST_SMALL_BYTES = 4096;
const LARGE_FIELDS = 256;

/**
 * Decodes small messages as `boundedDecoder`. Returns a large message undecoded, but refuses the same messages as
 * `boundedDecoder`.
 */
export function smallMessageDecoder<Message>(
  { decode }: Decoder<Message>,
  bounds: ListBounds,
): (bytes: Buffer) => Message | UndecodedMessage {
  return (bytes) => {
    const skim = new ListSkim(bytes);
    const cut = skim.cut(bytes.length, bounds);
    const large = bytes.length > MOST_SMALL_BYTES || skim.fieldCount > LARGE_FIELDS;
    return large ? new UndecodedMessage(bytes) : decode(cut?.() ?? bytes);
  };
}

/** Returns the part of a message up to its first list that is too long. */
type Cut = () => Buffer;

/**
 * Looks for a list that is too long. A nested message that ends early does not move the position to its end, because the
 * generated code does not move the position either. Throws for a message that is cut short.
 */
class ListSkim {
  private readonly walk: FieldWalk;

  constructor(private readonly bytes: Buffer) {
    this.walk = new FieldWalk(bytes, MAX_FIELDS);
  }

  get fieldCount(): number {
    return this.walk.fieldCount;
  }

  /** Cuts the message from here to `end` after the first list that is too long. Undefined: no list is too long. */
  cut(end: number, bounds: ListBounds): Cut | undefined {
    const { reader } = this.walk;
    const start = reader.pos;
    let counts: Map<FieldBounds, number> | undefined;
    while (reader.pos < end) {
      const tag = this.walk.tag();
      if (tag === undefined) return undefined;
      const field = (tag & 7) === LENGTH_DELIMITED ? bounds.get(tag >>> 3) : undefined;
      if (field === undefined) {
        this.walk.skip(tag);
        continue;
      }
      counts ??= new Map();
      const count = (counts.get(field) ?? 0) + 1;
      counts.set(field, count);
      const item = reader.pos;
      const last = count > (field.maxItems ?? Infinity) ? () => Buffer.alloc(0) : this.cutInside(field);
      if (last !== undefined) return () => withLength(this.bytes.subarray(start, item), last());
    }
    return undefined;
  }

  private cutInside({ inside }: FieldBounds): Cut | undefined {
    const { walk } = this;
    if (inside !== undefined) {
      const length = walk.reader.uint32();
      return this.cut(walk.reader.pos + length, inside);
    }
    walk.skip(LENGTH_DELIMITED);
    return undefined;
  }
}

/** `head` ends with the tag of a field. Appends the length and the content of the field. */
function withLength(head: Buffer, content: Buffer): Buffer {
  const length: number[] = [];
  let rest = content.length;
  for (; rest > 0x7f; rest >>>= 7) length.push((rest & 0x7f) | 0x80);
  length.push(rest);
  return Buffer.concat([head, Buffer.from(length), content]);
}
