import type { StoredEntry } from '../../../src/autocomplete/entry-store';
import type { Content } from './entries-fixture';

type Entries = Map<string, { record: string; selections: number }>;

interface ModelImport {
  readonly entries: Map<string, string>;
  /** Ids that were written since the start of the import. */
  readonly written: Set<string>;
}

/** A dictionary as a plain map, with its open imports. */
export class EntriesModel {
  constructor(
    private entries: Entries = new Map(),
    private readonly imports = new Map<string, ModelImport>(),
    /** The creation of the dictionary is the first version. */
    private versions = 1,
    /** True: an import has replaced a generation, which is kept. */
    private hasReplaced = false,
  ) {}

  get version(): number {
    return this.versions;
  }

  copy(): EntriesModel {
    const entries = new Map([...this.entries].map(([id, entry]) => [id, { ...entry }]));
    const imports = [...this.imports].map(
      ([id, one]) => [id, { entries: new Map(one.entries), written: new Set(one.written) }] as const,
    );
    return new EntriesModel(entries, new Map(imports), this.versions, this.hasReplaced);
  }

  get content(): Content {
    const sorted = [...this.entries].sort(([a], [b]) => (a < b ? -1 : 1));
    return Object.fromEntries(sorted.map(([id, { record, selections }]) => [id, [record, selections]]));
  }

  get size(): number {
    return this.entries.size;
  }

  hasImport(id: string): boolean {
    return this.imports.has(id);
  }

  put(entries: readonly StoredEntry[]): void {
    this.versions += 1;
    for (const { entryId, record } of entries) {
      const selections = this.entries.get(entryId)?.selections ?? 0;
      this.entries.set(entryId, { record: String(record), selections });
      for (const one of this.imports.values()) {
        one.entries.set(entryId, String(record));
        one.written.add(entryId);
      }
    }
  }

  delete(ids: readonly string[]): number {
    const deleted = [...new Set(ids)].filter((id) => this.entries.delete(id));
    // A deletion of nothing is a write only while an import is open, which must not restore the entries, or after a
    // commit: copies of the replaced generation may have the entries.
    if (deleted.length > 0 || this.imports.size > 0 || this.hasReplaced) this.versions += 1;
    for (const one of this.imports.values()) {
      for (const id of ids) {
        one.entries.delete(id);
        one.written.add(id);
      }
    }
    return deleted.length;
  }

  select(id: string, count: number): number | undefined {
    const entry = this.entries.get(id);
    if (entry) {
      entry.selections += count;
      this.versions += 1;
    }
    return entry?.selections;
  }

  startImport(id: string): void {
    this.imports.set(id, { entries: new Map(), written: new Set() });
  }

  putImported(id: string, entries: readonly StoredEntry[]): void {
    const one = this.imports.get(id);
    for (const { entryId, record } of entries) {
      if (!one?.written.has(entryId)) one?.entries.set(entryId, String(record));
    }
  }

  commit(id: string): void {
    const built = this.imports.get(id)?.entries ?? new Map<string, string>();
    const before = this.entries;
    this.entries = new Map(
      [...built].map(([entryId, record]) => [
        entryId,
        { record, selections: before.get(entryId)?.selections ?? 0 },
      ]),
    );
    this.imports.clear();
    this.versions += 1;
    this.hasReplaced = true;
  }

  /** The dictionary is deleted and created again. */
  recreate(): void {
    this.entries.clear();
    this.imports.clear();
    this.versions = 1;
    this.hasReplaced = false;
  }

  abandon(id: string): void {
    this.imports.delete(id);
  }
}
