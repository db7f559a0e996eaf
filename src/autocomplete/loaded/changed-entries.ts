import type { EntryChange } from '../entry-store';
import type { CollectedEntry } from './thread-calls';
import { entryOf, type Level } from './levels';

/** A deletion counts like a put of a short text, because both take the same time. */
const DELETED_BYTES = 24;

/** The changes of some writes: the last state of each changed entry. */
export class ChangedEntries {
  /** By id. Undefined: the entry was deleted. */
  readonly #entries = new Map<string, CollectedEntry | undefined>();
  /** About the bytes of the ids and records, as a measure of the work. Never falls. */
  #bytes = 0;

  /** `levels`: the entries before the changes. */
  constructor(private readonly levels: readonly Level[]) {}

  get bytes(): number {
    return this.#bytes;
  }

  get ids(): IterableIterator<string> {
    return this.#entries.keys();
  }

  /** The entries that were not deleted. */
  *living(): Generator<CollectedEntry> {
    for (const entry of this.#entries.values()) if (entry) yield entry;
  }

  add(change: EntryChange): void {
    const { entryId } = change;
    switch (change.kind) {
      case 'put': {
        const selectionCount = this.#entryOf(entryId)?.selectionCount ?? 0;
        this.#bytes += entryId.length + change.record.length;
        this.#entries.set(entryId, { entryId, record: change.record, selectionCount });
        return;
      }
      case 'delete':
        this.#bytes += entryId.length + DELETED_BYTES;
        this.#entries.set(entryId, undefined);
        return;
      case 'select': {
        const before = this.#entryOf(entryId);
        if (before === undefined) return;
        this.#bytes += entryId.length + before.record.length;
        this.#entries.set(entryId, { entryId, record: before.record, selectionCount: change.selectionCount });
      }
    }
  }

  #entryOf(entryId: string): { readonly record: Uint8Array; readonly selectionCount: number } | undefined {
    if (this.#entries.has(entryId)) return this.#entries.get(entryId);
    return entryOf(this.levels, Buffer.from(entryId));
  }
}
