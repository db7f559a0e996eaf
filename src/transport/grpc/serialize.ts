import { BinaryWriter } from '@bufbuild/protobuf/wire';

interface Encoder<Message> {
  encode(message: Message, writer: BinaryWriter): BinaryWriter;
}

/**
 * Serializes with one writer for all messages: a new one for each, as the generated code has it, costs an answer
 * three buffers and a copy, and the collector as much again.
 */
export function serializer<Message>({ encode }: Encoder<Message>): (message: Message) => Buffer {
  let writer = new BinaryWriter();
  return (message) => {
    try {
      const bytes = encode(message, writer).finish();
      return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    } catch (error) {
      // It holds half a message.
      writer = new BinaryWriter();
      throw error;
    }
  };
}
