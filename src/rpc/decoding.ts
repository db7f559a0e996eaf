import { BinaryReader } from '@bufbuild/protobuf/wire';
import { HoldfastError } from '../base/errors';

const LENGTH_DELIMITED = 2;
const VARINT = 0;
const START_GROUP = 3;
const END_GROUP = 4;
/**
 * A valid varint has at most 10 bytes. The generated code refuses a longer number of a known field, but skips a varint of
 * any length.
 */
const MOST_VARINT_BYTES = 16;

/**
 * Walks over the fields of an encoded message as the generated code does, but creates no objects. Throws for a message
 * that is cut short, and for a message with more fields than `maxFields`.
 */
export class FieldWalk {
  readonly reader: BinaryReader;
  fieldCount = 0;

  constructor(
    private readonly bytes: Uint8Array,
    private readonly maxFields: number,
  ) {
    this.reader = new BinaryReader(bytes);
  }

  /** Reads the tag of the next field. Undefined: the generated code reads no field after this tag. */
  tag(): number | undefined {
    const tag = this.reader.uint32();
    if (tag === 0 || (tag & 7) === END_GROUP) return undefined;
    this.fieldCount += 1;
    if (this.fieldCount > this.maxFields)
      throw new Error(`the message has more than ${this.maxFields} fields`);
    return tag;
  }

  /** Goes to the end of the field with this tag. */
  skip(tag: number): void {
    const { reader } = this;
    switch (tag & 7) {
      // The reader's own skip creates a view of the skipped bytes.
      case VARINT: {
        const mostAt = reader.pos + MOST_VARINT_BYTES;
        while ((this.bytes[reader.pos] ?? 0) > 0x7f && reader.pos < mostAt) reader.pos += 1;
        if (reader.pos === mostAt) throw new Error('the message has a number that is too long');
        reader.pos += 1;
        break;
      }
      case LENGTH_DELIMITED: {
        const length = reader.uint32();
        reader.pos += length;
        break;
      }
      case START_GROUP:
        // A group may contain any number of fields, and no client of a proto3 service writes groups.
        throw new Error('the message has a group');
      default:
        reader.skip(tag & 7);
    }
    if (reader.pos > reader.len) throw new RangeError('the message is cut short');
  }
}

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
