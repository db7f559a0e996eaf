import { randomUUID } from 'node:crypto';
import type {
  BucketsRead,
  EntryChange,
  EntryStore,
  Gap,
  Head,
  LoadSource,
  LoadStart,
  Missing,
  OwnershipStore,
  StoredUsage,
  Write,
  Writes,
} from '../../../src/autocomplete/entry-store';
import { amountOf, type EntryAmount, NOTHING, plus } from '../../../src/autocomplete/quota/amount';
import { packRecord } from '../../../src/autocomplete/record';
import { pack } from '../../../src/autocomplete/redis/packing';
import type { Entry, Profile, StoredEntry } from '../../../src/autocomplete/suggestion';
import { StoreFailure } from '../../../src/base/errors';

interface Kept {
  readonly record: Uint8Array;
  readonly selectionCount: number;
}

/** The state of a dictionary. A copy of a state is what a replica or a backup has. */
interface State {
  readonly generationId: string;
  readonly entries: ReadonlyMap<string, Kept>;
  readonly writes: readonly Write[];
  readonly version: number;
  readonly tail: string;
}

/**
 * A dictionary of a store without Redis: the reads of the port to the entries, and writes for tests. Tests can let the
 * store fail, forget writes, and go back to an earlier state, as after a failover.
 */
export class ModelEntryStore implements Pick<
  EntryStore,
  'head' | 'startLoad' | 'readBuckets' | 'writesAfter'
> {
  /** Undefined: the dictionary does not exist. */
  state: State | undefined;
  /** Every command fails. */
  isDown = false;
  /** Called before each command, with its name. A test may write in between. */
  before: (command: string) => void | Promise<void> = () => undefined;
  /** The commands so far. */
  readonly commands: string[] = [];
  writesPerRead = 3;
  /** The buckets in the answer to the start of a load. */
  bucketsAtStart = 0;
  /** The server that answers loads. */
  source: LoadSource = 'primary';

  constructor(
    readonly profile: Profile,
    private readonly bucketCount = 4,
  ) {
    this.replaceAll(new Map());
  }

  /** As the commit of an import: another generation with these entries. Selections stay. */
  replaceAll(entries: ReadonlyMap<string, Entry>): void {
    const before = this.state;
    const kept = new Map<string, Kept>();
    for (const [id, entry] of entries) {
      const selectionCount = before?.entries.get(id)?.selectionCount ?? 0;
      kept.set(id, { record: packRecord(entry), selectionCount });
    }
    const write = this.#write([]);
    const { version, tail } = write;
    this.state = { generationId: randomUUID(), entries: kept, writes: [write], version, tail };
  }

  put(...entries: Entry[]): void {
    this.apply(entries.map((entry) => ({ kind: 'put', entryId: entry.entryId, record: packRecord(entry) })));
  }

  delete(...ids: string[]): void {
    this.apply(ids.map((entryId) => ({ kind: 'delete', entryId })));
  }

  select(entryId: string, count: number): void {
    const kept = this.state?.entries.get(entryId);
    if (kept) this.apply([{ kind: 'select', entryId, selectionCount: kept.selectionCount + count }]);
  }

  apply(changes: readonly EntryChange[]): void {
    const { state } = this;
    if (!state) throw new Error('the dictionary does not exist');
    const entries = new Map(state.entries);
    for (const change of changes) {
      const before = entries.get(change.entryId);
      if (change.kind === 'delete') entries.delete(change.entryId);
      else if (change.kind === 'put')
        entries.set(change.entryId, { record: change.record, selectionCount: before?.selectionCount ?? 0 });
      else if (before) entries.set(change.entryId, { ...before, selectionCount: change.selectionCount });
    }
    const write = this.#write(changes);
    this.state = {
      ...state,
      entries,
      writes: [...state.writes, write],
      version: write.version,
      tail: write.tail,
    };
  }

  /** Forgets all but the last writes. */
  keepWrites(count: number): void {
    if (this.state)
      this.state = { ...this.state, writes: count === 0 ? [] : this.state.writes.slice(-count) };
  }

  async head(): Promise<Head | Missing> {
    await this.#began('head');
    return this.#head();
  }

  async startLoad(): Promise<LoadStart | Missing> {
    await this.#began('startLoad');
    const head = this.#head();
    if (head.kind !== 'head' || !this.state) return { kind: 'unknown' };
    const { version, tail, entries } = this.state;
    const entryBytes = [...entries].reduce((sum, [id, { record }]) => sum + id.length + record.length, 0);
    const { bucketCount, bucketsAtStart: next } = this;
    const packed = this.#packed(entries, (bucket) => bucket < next);
    const numbers = { entryCount: entries.size, entryBytes, bucketCount, next };
    return { kind: 'start', head, version, tail, ...numbers, source: this.source, packed };
  }

  async readBuckets(_name: string, generationId: string, from: number): Promise<BucketsRead | Gap> {
    await this.#began('readBuckets');
    if (this.state?.generationId !== generationId) return { kind: 'gap' };
    const { version, tail, entries } = this.state;
    const packed = this.#packed(entries, (bucket) => bucket === from);
    return { kind: 'buckets', version, tail, bucketCount: this.bucketCount, next: from + 1, packed };
  }

  async writesAfter(
    _name: string,
    after: { readonly generationId: string; readonly version: number; readonly tail: string },
  ): Promise<Writes | Gap | Missing> {
    await this.#began('writesAfter');
    const head = this.#head();
    if (head.kind !== 'head' || !this.state) return { kind: 'unknown' };
    if (this.state.generationId !== after.generationId || after.version > head.version)
      return { kind: 'gap' };
    const count = head.version - after.version;
    const writes = count === 0 ? [] : this.state.writes.slice(-count);
    const tail = writes[0]?.before ?? head.tail;
    if (writes.length < count || tail !== after.tail) return { kind: 'gap' };
    return { kind: 'writes', head, writes: writes.slice(0, this.writesPerRead) };
  }

  /** One packed bucket with the entries of the wanted buckets. */
  #packed(entries: State['entries'], isWanted: (bucket: number) => boolean): Uint8Array {
    const fields = [...entries]
      .filter(([id]) => isWanted(Buffer.byteLength(id) % this.bucketCount))
      .flatMap(([id, { record, selectionCount }]) => [
        ...[id, record],
        ...(selectionCount > 0 ? [`\u0001${id}`, String(selectionCount)] : []),
      ]);
    return pack(fields);
  }

  #write(changes: readonly EntryChange[]): Write {
    const { version, tail } = this.state ?? { version: 0, tail: '' };
    return { version: version + 1, before: tail, tail: randomUUID(), changes };
  }

  #head(): Head | Missing {
    if (!this.state) return { kind: 'unknown' };
    const { generationId, version, tail } = this.state;
    return { kind: 'head', profile: this.profile, generationId, version, tail };
  }

  async #began(command: string): Promise<void> {
    this.commands.push(command);
    await this.before(command);
    if (this.isDown) throw new StoreFailure('no', 'unavailable');
  }
}

/** Entries with ids of one byte and records of three bytes. */
export function fourByteEntries(count: number, from = 0): StoredEntry[] {
  return Array.from({ length: count }, (_, index) => ({
    entryId: String.fromCharCode(0x21 + from + index),
    record: Buffer.from('abc'),
  }));
}

interface Dictionary {
  readonly owner: string;
  entries: Map<string, StoredEntry>;
}

/** Dictionaries with owners, without Redis. Tests can count the commands, and let the store fail. */
export class ModelOwnership implements OwnershipStore {
  readonly dictionaries = new Map<string, Dictionary>();
  /** Names of dictionaries that an import may create. */
  readonly imported = new Set<string>();
  readonly lists = new Map<string, Set<string>>();
  readonly commands: string[] = [];
  isDown = false;
  /** Called before each command, with its name. */
  before: (command: string) => void | Promise<void> = () => undefined;

  create(name: string, owner: string, entries: readonly StoredEntry[] = []): void {
    if (!this.dictionaries.has(name)) this.dictionaries.set(name, { owner, entries: new Map() });
    if (owner !== '') this.listOf(owner).add(name);
    this.put(name, entries);
  }

  put(name: string, entries: readonly StoredEntry[]): void {
    const stored = this.dictionaries.get(name)?.entries;
    for (const entry of entries) stored?.set(entry.entryId, entry);
  }

  /** As the commit of an import. */
  replace(name: string, owner: string, entries: readonly StoredEntry[]): void {
    this.create(name, owner);
    this.dictionaries.get(name)?.entries.clear();
    this.put(name, entries);
  }

  amount(name: string): EntryAmount {
    return amountOf([...(this.dictionaries.get(name)?.entries.values() ?? [])]);
  }

  /** The sum over all dictionaries of the owner. */
  total(owner: string, except?: string): EntryAmount {
    return [...this.dictionaries]
      .filter(([name, one]) => one.owner === owner && name !== except)
      .map(([name]) => this.amount(name))
      .reduce(plus, NOTHING);
  }

  async usage(name: string): Promise<StoredUsage> {
    await this.began('usage');
    const found = this.dictionaries.get(name);
    if (found === undefined) return { kind: this.imported.has(name) ? 'unknown' : 'gone' };
    return { kind: 'used', owner: found.owner, amount: this.amount(name) };
  }

  async owned(owner: string, after: string | undefined, limit: number): Promise<readonly string[]> {
    await this.began('owned');
    const names = [...this.listOf(owner)].sort().filter((name) => after === undefined || name > after);
    return names.slice(0, limit);
  }

  async registerOwned(owner: string, name: string): Promise<void> {
    await this.began('registerOwned');
    this.listOf(owner).add(name);
  }

  async unregisterOwned(owner: string, name: string): Promise<void> {
    await this.began('unregisterOwned');
    this.listOf(owner).delete(name);
  }

  listOf(owner: string): Set<string> {
    const list = this.lists.get(owner) ?? new Set();
    this.lists.set(owner, list);
    return list;
  }

  private async began(command: string): Promise<void> {
    this.commands.push(command);
    await this.before(command);
    if (this.isDown) throw new StoreFailure('unknown', 'unavailable');
  }
}
