import { once } from 'node:events';
import type { ClientWritableStream, ServiceError } from '@grpc/grpc-js';
import {
  AutocompleteServiceService as methods,
  type Dictionary as DictionaryInfo,
  type ImportDictionaryRequest,
  type ImportDictionaryResponse,
  type ImportStart,
} from '../../../generated/typescript/holdfast/v1/autocomplete_service';
import { either, onAbort } from '../calls/abort';
import type { CallChannel } from '../calls/call-channel';
import { errorOfCall } from '../errors';
import { batches, type EntrySource } from './entries';

type Part = NonNullable<ImportDictionaryRequest['part']>;

/** One stream: start, batches, commit. Without the commit nothing changes. */
export async function importEntries(
  channel: CallChannel,
  start: ImportStart,
  entries: EntrySource,
  signal: AbortSignal | undefined,
): Promise<DictionaryInfo> {
  const joined = either(signal, channel.closed);
  const ends = joined.signal;
  try {
    const metadata = await channel.metadata();
    ends.throwIfAborted();
    const { path, requestSerialize, responseDeserialize } = methods.importDictionary;
    let call!: ClientWritableStream<ImportDictionaryRequest>;
    const answer = new Promise<ImportDictionaryResponse>((resolve, reject) => {
      call = channel.current.makeClientStreamRequest(
        path,
        requestSerialize,
        responseDeserialize,
        metadata,
        (error, response) => (error ? reject(error) : resolve(response as ImportDictionaryResponse)),
      );
    });
    const remove = onAbort(ends, () => call.cancel());
    try {
      const [{ dictionary }] = await Promise.all([answer, send(call, answer, start, entries)]);
      if (dictionary === undefined) throw new Error('the answer to the import has no dictionary');
      return dictionary;
    } catch (error) {
      call.cancel();
      ends.throwIfAborted();
      throw isServiceError(error) ? errorOfCall(error) : error;
    } finally {
      remove();
    }
  } finally {
    joined.dispose();
  }
}

async function send(
  call: ClientWritableStream<ImportDictionaryRequest>,
  answer: Promise<unknown>,
  start: ImportStart,
  entries: EntrySource,
): Promise<void> {
  // After an early answer the source is not read any more.
  const over = answer.then(
    () => true,
    () => true,
  );
  let isOver = false;
  void over.then(() => (isOver = true));
  const write = async (part: Part) => {
    if (!call.write({ part })) await Promise.race([once(call, 'drain'), over]);
  };
  let count = 0;
  await write({ $case: 'start', value: start });
  for await (const batch of batches(entries)) {
    if (isOver) return;
    count += batch.length;
    await write({ $case: 'batch', value: { entries: batch } });
  }
  await write({ $case: 'commit', value: { entryCount: BigInt(count) } });
  call.end();
}

/** An error of the call, and not of the source of the entries. */
function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && 'code' in error && 'details' in error && 'metadata' in error;
}
