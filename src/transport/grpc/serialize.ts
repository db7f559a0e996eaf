import { BinaryWriter } from '@bufbuild/protobuf/wire';

interface Encoder<Message> {
  encode(message: Message, writer: BinaryWriter): BinaryWriter;
}

/**
 * Serializes all messages with one writer. The generated code creates a writer per message, which costs three buffers
 * and a copy per answer.
 */
export function serializer<Message>({ encode }: Encoder<Message>): (message: Message) => Buffer {
  let writer = new BinaryWriter();
  return (message) => {
    try {
      const bytes = encode(message, writer).finish();
      return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    } catch (error) {
      // The writer holds half a message.
      writer = new BinaryWriter();
      throw error;
    }
  };
}
