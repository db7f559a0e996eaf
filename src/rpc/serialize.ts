import { BinaryWriter } from '@bufbuild/protobuf/wire';

interface Encoder<Message> {
  encode(message: Message, writer: BinaryWriter): BinaryWriter;
}

/**
 * Serializes all messages with one writer. The generated code creates a writer for each message, and each writer costs
 * three buffers and a copy.
 */
export function serializer<Message>({ encode }: Encoder<Message>): (message: Message) => Buffer {
  let writer = new BinaryWriter();
  return (message) => {
    try {
      const bytes = encode(message, writer).finish();
      return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    } catch (error) {
      // The old writer contains a part of the failed message, which would begin the next message.
      writer = new BinaryWriter();
      throw error;
    }
  };
}

/** As `serializer`, for messages that go to many clients: serializes each message object once. */
export function sharedSerializer<Message extends object>(
  encoder: Encoder<Message>,
): (message: Message) => Buffer {
  const serialize = serializer(encoder);
  const known = new WeakMap<Message, Buffer>();
  return (message) => {
    let bytes = known.get(message);
    if (bytes === undefined) known.set(message, (bytes = serialize(message)));
    return bytes;
  };
}
