import { join } from 'node:path';
import { BinaryReader } from '@bufbuild/protobuf/wire';
import {
  DeleteEntriesRequest,
  type Entry as EntryMessage,
  type ImportCommit,
  ImportDictionaryRequest,
  type ImportStart,
  PutEntriesRequest,
} from '../../../generated/typescript/holdfast/v1/autocomplete_service';
import type { Clock } from '../../base/clock';
import { type FieldViolation, HoldfastError } from '../../base/errors';
import { TaskThread, ThreadLost } from '../../base/thread';
import {
  boundedDecoder,
  type ListBounds,
  smallMessageDecoder,
  undecodableRequest,
  UndecodedMessage,
} from '../../rpc/decoding';
import { checkName, Violations } from '../../rpc/fields';
import { packEntry, unpackBatch } from '../record';
import { MAX_ALIASES, MAX_ENTRIES, type StoredEntry } from '../suggestion';
import { checkEntries } from './entry-fields';

/** The checks of requests with entries, on the main thread for small requests and in a thread for large requests. */

/** `entries` is empty if there are violations. */
export interface CheckedBatch {
  readonly violations: readonly FieldViolation[];
  readonly entries: readonly StoredEntry[];
}

/** `dictionary` is empty if there are violations. */
interface CheckedPut extends CheckedBatch {
  readonly dictionary: string;
}

/** A message of an import. The entries of a batch are checked. The other parts are not. */
export type ImportPart =
  | { readonly $case: 'start'; readonly value: ImportStart }
  | { readonly $case: 'batch'; readonly value: CheckedBatch }
  | { readonly $case: 'commit'; readonly value: ImportCommit };

export function checkPut({ dictionary, entries }: PutEntriesRequest): CheckedPut {
  const violations = new Violations();
  checkName(violations, 'dictionary', dictionary);
  const batch = checkBatch(violations, 'entries', entries);
  return { dictionary: violations.any ? '' : dictionary, ...batch };
}

/** Undefined: the message has no part. */
export function checkImportPart({ part }: ImportDictionaryRequest): ImportPart | undefined {
  if (part?.$case !== 'batch') return part;
  return { $case: 'batch', value: checkBatch(new Violations(), 'batch.entries', part.value.entries) };
}

function checkBatch(violations: Violations, field: string, messages: readonly EntryMessage[]): CheckedBatch {
  const entries = checkEntries(violations, field, messages);
  return { violations: violations.all, entries: violations.any ? [] : entries.map(packEntry) };
}

/** A batch on its way from the thread (record.ts of the engine). */
export interface PackedBatch {
  readonly violations: CheckedBatch['violations'];
  readonly packed: Uint8Array<ArrayBuffer>;
}

export interface PackedPut extends PackedBatch {
  readonly dictionary: CheckedPut['dictionary'];
}

export type PackedImportPart =
  Exclude<ImportPart, { $case: 'batch' }> | { readonly $case: 'batch'; readonly value: PackedBatch };

/** The bytes are no message of the expected type. */
export interface Undecodable {
  readonly $case: 'undecodable';
}

/** The calls of the thread that decodes and checks large requests. Each call takes the encoded message. */
export interface EntryThreadCalls {
  putEntries: {
    takes: Uint8Array;
    answers: { readonly $case: 'put'; readonly value: PackedPut } | Undecodable;
  };
  importDictionary: {
    takes: Uint8Array;
    answers: { readonly $case: 'part'; readonly value: PackedImportPart | undefined } | Undecodable;
  };
}

/** The number of bytes of a gRPC frame before its message. */
const FRAME_HEAD_BYTES = 5;

/**
 * Checks the requests with entries: small requests immediately, and large requests in a thread, because the work for
 * a request of 4 MiB takes 70 ms. No limit of its own bounds the waiting requests: `MAX_UNARY_CALLS` and `maxImports`
 * bound their number, and `IntakeLimits` bounds their bytes.
 */
export class EntryRequests {
  readonly #thread = new TaskThread<EntryThreadCalls>(join(__dirname, 'large-requests-main'), undefined);

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

/** The lists of the requests with many entries, by field number. The rows have the bounds in bytes. */
const entry: ListBounds = new Map([[3, { maxItems: MAX_ALIASES }]]);
const putEntries: ListBounds = new Map([[2, { maxItems: MAX_ENTRIES, inside: entry }]]);
const deleteEntries: ListBounds = new Map([[2, { maxItems: MAX_ENTRIES }]]);
const importBatch: ListBounds = new Map([[1, { maxItems: MAX_ENTRIES, inside: entry }]]);
const importDictionary: ListBounds = new Map([[2, { inside: importBatch }]]);

/** Decode messages of any size. */
export const requestDecoders = {
  putEntries: boundedDecoder(PutEntriesRequest, putEntries),
  deleteEntries: boundedDecoder(DeleteEntriesRequest, deleteEntries),
  importDictionary: boundedDecoder(ImportDictionaryRequest, importDictionary),
};

/** Leave large messages to the thread of EntryRequests. */
export const smallRequestDecoders = {
  putEntries: smallMessageDecoder(PutEntriesRequest, putEntries),
  importDictionary: smallMessageDecoder(ImportDictionaryRequest, importDictionary),
};

const LENGTH_DELIMITED = 2;

/**
 * The dictionary of a large PutEntriesRequest. Refuses most callers before a thread decodes the request. An attacker can
 * build a request that the generated code reads differently, so the handler checks the decoded dictionary again.
 */
export function dictionaryIn({ bytes }: UndecodedMessage): string {
  const reader = new BinaryReader(bytes);
  let dictionary = '';
  try {
    while (reader.pos < reader.len) {
      const tag = reader.uint32();
      const wireType = tag & 7;
      if (tag >>> 3 === 1 && wireType === LENGTH_DELIMITED) {
        dictionary = reader.string();
      } else if (wireType === LENGTH_DELIMITED) {
        const length = reader.uint32();
        reader.pos += length;
      } else {
        reader.skip(wireType);
      }
    }
  } catch {
    // The handler refuses bytes that are no message.
  }
  return dictionary;
}
