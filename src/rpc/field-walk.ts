import { BinaryReader } from '@bufbuild/protobuf/wire';

export const LENGTH_DELIMITED = 2;
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
