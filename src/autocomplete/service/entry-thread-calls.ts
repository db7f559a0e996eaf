import type { CheckedBatch, CheckedPut, ImportPart } from './entry-checks';

/** A batch on its way from the thread (entry-batch.ts of the engine). */
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
