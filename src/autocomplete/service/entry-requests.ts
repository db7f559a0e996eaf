import { join } from 'node:path';
import type {
  ImportDictionaryRequest,
  PutEntriesRequest,
} from '../../../generated/typescript/holdfast/v1/autocomplete_service';
import { unpackBatch } from '../entry-batch';
import type { Clock } from '../../base/clock';
import { HoldfastError } from '../../base/errors';
import { TaskThread, ThreadLost } from '../../base/task-thread';
import { UndecodedMessage, undecodableRequest } from '../../rpc/bounded-decoding';
import {
  checkImportPart,
  checkPut,
  type CheckedBatch,
  type CheckedPut,
  type ImportPart,
} from './entry-checks';
import type { EntryThreadCalls, PackedBatch, Undecodable } from './entry-thread-calls';

/** The number of bytes of a gRPC frame before its message. */
const FRAME_HEAD_BYTES = 5;

/**
 * Checks the requests with entries: small requests immediately, and large requests in a thread, because the work for
 * a request of 4 MiB takes 70 ms. No limit of its own bounds the waiting requests: `MAX_UNARY_CALLS` and `maxImports`
 * bound their number, and `IntakeLimits` bounds their bytes.
 */
export class EntryRequests {
  readonly #thread = new TaskThread<EntryThreadCalls>(join(__dirname, 'entry-thread-main'), undefined);

  constructor(private readonly clock: Clock) {}

  async putEntries(request: PutEntriesRequest | UndecodedMessage): Promise<CheckedPut> {
    if (!(request instanceof UndecodedMessage)) return checkPut(request);
    const { value } = await this.#check('putEntries', request);
    return { dictionary: value.dictionary, ...(await this.#unpack(value)) };
  }

  /** Resolves to undefined if the message has no part. */
  async importPart(request: ImportDictionaryRequest | UndecodedMessage): Promise<ImportPart | undefined> {
    if (!(request instanceof UndecodedMessage)) return checkImportPart(request);
    const { value } = await this.#check('importDictionary', request);
    if (value?.$case !== 'batch') return value;
    return { $case: 'batch', value: await this.#unpack(value.value) };
  }

  async close(): Promise<void> {
    await this.#thread.close();
  }

  async #check<Name extends keyof EntryThreadCalls>(
    name: Name,
    { bytes }: UndecodedMessage,
  ): Promise<Exclude<EntryThreadCalls[Name]['answers'], Undecodable>> {
    const message = ownMemory(bytes);
    const answer = await this.#thread.call(name, message, [message.buffer]).catch((error: unknown) => {
      throw error instanceof ThreadLost ? threadLost(error) : error;
    });
    if (answer.$case === 'undecodable') throw undecodableRequest();
    return answer as Exclude<EntryThreadCalls[Name]['answers'], Undecodable>;
  }

  async #unpack({ violations, packed }: PackedBatch): Promise<CheckedBatch> {
    return { violations, entries: await unpackBatch(packed, this.clock) };
  }
}

/** Returns bytes in memory that can be transferred to another thread. */
function ownMemory(bytes: Buffer): Uint8Array<ArrayBuffer> {
  const { buffer, byteOffset, length } = bytes as Uint8Array as Uint8Array<ArrayBuffer>;
  // Other messages may share a larger memory.
  if (buffer.byteLength - length > FRAME_HEAD_BYTES) return new Uint8Array(bytes);
  return new Uint8Array(buffer, byteOffset, length);
}

function threadLost(cause: ThreadLost): HoldfastError {
  return new HoldfastError(
    'OVERLOADED',
    `the check of the entries has stopped (${cause.message}): nothing was done; try again, with fewer entries at a time`,
  );
}
