import { createReadStream } from 'node:fs';
import { UsageError } from '../exit-codes';

/** The bytes of a file, which is opened by the first read. Rejects with a UsageError if a read fails. */
export async function* fileBytes(file: string): AsyncGenerator<Buffer, void, undefined> {
  try {
    for await (const piece of createReadStream(file)) yield piece as Buffer;
  } catch (error) {
    throw unreadable(file, error);
  }
}

export function unreadable(file: string, error: unknown): UsageError {
  return new UsageError(`${file} cannot be read: ${(error as Error).message}`);
}
