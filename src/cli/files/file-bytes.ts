import { createReadStream, open, statSync } from 'node:fs';
import { Socket } from 'node:net';
import { promisify } from 'node:util';
import { UsageError } from '../exit-codes';

/** The bytes of a file, which is opened by the first read. Rejects with a UsageError if a read fails. */
export async function* fileBytes(file: string): AsyncGenerator<Buffer, void, undefined> {
  try {
    for await (const piece of await openFile(file)) yield piece as Buffer;
  } catch (error) {
    throw unreadable(file, error);
  }
}

/** A read of a pipe as a file would hold a thread until the writer writes, and the process could not end. */
async function openFile(file: string): Promise<AsyncIterable<unknown>> {
  if (!statSync(file).isFIFO()) return createReadStream(file);
  const fd = await promisify(open)(file, 'r');
  return new Socket({ fd, readable: true, writable: false });
}

export function unreadable(file: string, error: unknown): UsageError {
  return new UsageError(`${file} cannot be read: ${(error as Error).message}`);
}
