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
  Write,
  Writes,
} from '../../src/autocomplete/entry-store';
import { StoreFailure } from '../../src/base/errors';
import { packRecord } from '../../src/autocomplete/record';
import type { Entry, Profile } from '../../src/autocomplete/suggestion';
import { pack } from '../../src/autocomplete/redis/packing';

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
