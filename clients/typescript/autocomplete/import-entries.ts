import type { ClientWritableStream, ServiceError } from '@grpc/grpc-js';
import {
  AutocompleteServiceService as methods,
  type Dictionary as DictionaryInfo,
  type ImportDictionaryRequest,
  type ImportDictionaryResponse,
  type ImportStart,
} from '../../../generated/typescript/holdfast/v1/autocomplete_service';
import { either, onAbort } from '../calls/abort';
import type { CallChannel, Prepared } from '../calls/call-channel';
import { timeoutOf, type CallOptions } from '../calls/call-options';
import { errorOfCall } from '../errors';
import { batches, type EntrySource } from './entries';

type Part = NonNullable<ImportDictionaryRequest['part']>;
type Call = ClientWritableStream<ImportDictionaryRequest>;

/** One stream: start, batches, commit. Without the commit nothing changes. */
export async function importEntries(
  channel: CallChannel,
  start: ImportStart,
  entries: EntrySource,
  options: CallOptions,
): Promise<DictionaryInfo> {
  const joined = either(options.signal, channel.closed, timeoutOf(options, Infinity));
  const ends = joined.signal;
  try {
    const prepared = await channel.prepare(ends);
    return await run(channel, prepared, start, entries, ends);
  } finally {
    joined.dispose();
  }
}

async function run(
  channel: CallChannel,
  prepared: Prepared,
  start: ImportStart,
  entries: EntrySource,
  ends: AbortSignal,
): Promise<DictionaryInfo> {
  const { call, answer, failure } = open(prepared);
  const remove = onAbort(ends, () => call.cancel());
  try {
    const [{ dictionary }] = await Promise.all([answer, send(call, answer, start, entries)]);
    if (dictionary === undefined) throw new Error('the answer to the import has no dictionary');
    return dictionary;
  } catch (error) {
    call.cancel();
    ends.throwIfAborted();
    const ofCall = failure();
    // The source of the entries may have failed, also with an error of gRPC.
    if (ofCall === undefined || error !== ofCall) throw error;
    const failed = errorOfCall(ofCall);
    channel.failed(prepared.client, failed);
    throw failed;
  } finally {
    remove();
  }
}

interface Opened {
  readonly call: Call;
  readonly answer: Promise<ImportDictionaryResponse>;
  /** The error of the call. */
  failure(): ServiceError | undefined;
}

function open({ client, metadata }: Prepared): Opened {
  const { path, requestSerialize, responseDeserialize } = methods.importDictionary;
  let call!: Call;
  let failure: ServiceError | undefined;
  const answer = new Promise<ImportDictionaryResponse>((resolve, reject) => {
    call = client.makeClientStreamRequest(
      path,
      requestSerialize,
      responseDeserialize,
      metadata,
      (error, response) => {
        failure = error ?? undefined;
        if (error) reject(error);
        else resolve(response as ImportDictionaryResponse);
      },
    );
  });
  return { call, answer, failure: () => failure };
}

async function send(
  call: Call,
  answer: Promise<unknown>,
  start: ImportStart,
  entries: EntrySource,
): Promise<void> {
  let isOver = false;
  const over = answer.then(
    () => void (isOver = true),
    () => void (isOver = true),
  );
  // The callback comes when the transport has taken the message, so at most one batch waits in the stream. After an early
  // answer there is no callback, and the source is not read any more.
  const write = (part: Part): Promise<void> =>
    Promise.race([new Promise<void>((resolve) => call.write({ part }, () => resolve())), over]);
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
