import { BinaryReader } from '@bufbuild/protobuf/wire';

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

const LENGTH_DELIMITED = 2;
const START_GROUP = 3;
const END_GROUP = 4;

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

/** The work for a message of this size takes less than 1 ms, also before its code is compiled. */
export const MOST_SMALL_BYTES = 4096;
const LARGE_FIELDS = 256;

/** Decodes small messages as `boundedDecoder`. Returns large messages without their decoding, but refuses the same ones. */
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

/** Makes the part of a message up to its first list that is too long. */
type Cut = () => Buffer;

/**
 * Walks over the fields of an encoded message as the generated code does, but creates no objects. A nested message
 * that ends early does not move the position to its end, because the generated code does not move the position either.
 * Throws for a message that is cut short.
 */
class ListSkim {
  private readonly reader: BinaryReader;
  fieldCount = 0;

  constructor(private readonly bytes: Buffer) {
    this.reader = new BinaryReader(bytes);
  }

  /** Cuts the message from here to `end` after the first list that is too long. Undefined: no list is too long. */
  cut(end: number, bounds: ListBounds): Cut | undefined {
    const { reader } = this;
    const start = reader.pos;
    let counts: Map<FieldBounds, number> | undefined;
    while (reader.pos < end) {
      const tag = reader.uint32();
      const wireType = tag & 7;
      if (tag === 0 || wireType === END_GROUP) return undefined;
      this.countField();
      const field = wireType === LENGTH_DELIMITED ? bounds.get(tag >>> 3) : undefined;
      if (field === undefined) {
        this.skip(wireType);
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
    const { reader } = this;
    if (inside !== undefined) {
      const length = reader.uint32();
      return this.cut(reader.pos + length, inside);
    }
    this.skip(LENGTH_DELIMITED);
    return undefined;
  }

  private countField(): void {
    this.fieldCount += 1;
    if (this.fieldCount > MAX_FIELDS) throw new Error(`the message has more than ${MAX_FIELDS} fields`);
  }

  private skip(wireType: number): void {
    const { reader } = this;
    // A group may contain any number of fields, and no client of a proto3 service writes groups.
    if (wireType === START_GROUP) throw new Error('the message has a group');
    if (wireType !== LENGTH_DELIMITED) {
      reader.skip(wireType);
      return;
    }
    // The reader's own skip creates a view of the skipped bytes.
    const length = reader.uint32();
    reader.pos += length;
    if (reader.pos > reader.len) throw new RangeError('the message is cut short');
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
