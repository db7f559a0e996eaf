import type { Clock } from '../../base/clock';
import { StoreFailure } from '../../base/errors';
import { ThreadLost } from '../../base/thread';
import { GrowingPause } from '../../flow/backoff';
import type { LoadRate } from '../../flow/lanes';
import type { BucketsRead, EntryStore, Head, LoadSource, LoadStart, Missing, Write } from '../entry-store';
import { type BuildInput, newCancelFlag, NoMemory } from './builds';
import { type CopyOptions, GenerationCopy } from './copy';
import type { HeldLayer, Position } from './levels';
import { type HeadReads, WritesMeanwhile } from './store-reads';

const LEAST_RETRY_MS = 100;
const MOST_RETRY_MS = 10_000;

/** How far a load is, for callers that cannot wait for its end. */
export class LoadProgress {
  readonly #beganAt: number;
  #text = 'it waits for other loads';

  constructor(private readonly clock: Clock) {
    this.#beganAt = clock.now();
  }

  /** `part`: the part of the entries that the server has read, from 0 to 1. */
  onRead(part: number): void {
    this.#text = `${Math.floor(100 * Math.min(1, part))} % of its entries are read`;
  }

  onAllRead(): void {
    this.#text = 'all its entries are read, and its index is being built';
  }

  get text(): string {
    return `for ${Math.round(this.#elapsedMs / 1000)} s; ${this.#text}`;
  }

  /**
   * A load that has taken long is likely to take long still. So a caller that waits as long as the load has taken asks a
   * few times, and learns of the end after at most twice the time of the load.
   */
  get retryAfterMs(): number {
    return Math.round(Math.min(MOST_RETRY_MS, Math.max(LEAST_RETRY_MS, this.#elapsedMs)));
  }

  get #elapsedMs(): number {
    return this.clock.now() - this.#beganAt;
  }
}

export type LoadStore = Pick<EntryStore, 'startLoad' | 'readBuckets' | 'writesAfter'>;

/** A load could not be finished, because the store has changed too much meanwhile. Another load may succeed. */
class Interrupted extends Error {
  override readonly name = 'Interrupted';
}

/** How often a load begins again. */
const MOST_ATTEMPTS = 5;

/**
 * Loads the live generation of a dictionary: reads its buckets, and then applies the writes that were made during the
 * read. Rejects with a `StoreFailure`, with `NoMemory` or with `ThreadLost`. `cancelFlag`: set to 1 to cancel the
 * load.
 */
async function loadCopy(
  name: string,
  store: LoadStore,
  options: Omit<CopyOptions, 'profile'>,
  cancelFlag: Int32Array,
  progress: LoadProgress,
): Promise<GenerationCopy | Missing> {
  for (let attempt = 1; ; attempt += 1) {
    // A replica may be too far behind for a load.
    const source = attempt === 1 ? 'replica' : 'primary';
    const start = await store.startLoad(name, source);
    if (start.kind !== 'start') return start;
    try {
      return await new DictionaryLoad(name, start, source, store, options, progress).run(cancelFlag);
    } catch (error) {
      if (!(error instanceof Interrupted)) throw error;
      if (attempt === MOST_ATTEMPTS) throw new StoreFailure('no', 'unavailable', { cause: error });
    }
  }
}

/** One attempt to load a generation. */
class DictionaryLoad {
  /** The last write that the build contains. */
  #position: Position;
  /** The positions of the reads of buckets, which must belong to one history. */
  readonly #seen = new Map<number, string>();

  constructor(
    private readonly name: string,
    private readonly start: LoadStart,
    private readonly source: LoadSource,
    private readonly store: LoadStore,
    private readonly options: Omit<CopyOptions, 'profile'>,
    private readonly progress: LoadProgress,
  ) {
    this.#position = { version: start.version, tail: start.tail };
    this.#see(start);
    this.#see(start.head);
  }

  async run(cancelFlag: Int32Array): Promise<GenerationCopy> {
    const { clock, memory } = this.options;
    const { generationId } = this.start.head;
    const read = (after: Position) => this.store.writesAfter(this.name, { generationId, ...after });
    const meanwhile = new WritesMeanwhile(this.#position, read, clock, memory);
    try {
      const held = await this.#build(cancelFlag, meanwhile);
      return await this.#copyOf(held, meanwhile);
    } finally {
      meanwhile.end();
    }
  }

  async #copyOf(held: HeldLayer, meanwhile: WritesMeanwhile): Promise<GenerationCopy> {
    const { generationId, profile } = this.start.head;
    const copy = new GenerationCopy(generationId, { ...this.#position, held }, { ...this.options, profile });
    try {
      await copy.apply(meanwhile.takeAfter(this.#position));
      return copy;
    } catch (error) {
      copy.close();
      throw error;
    }
  }

  #build(cancelFlag: Int32Array, meanwhile: WritesMeanwhile): Promise<HeldLayer> {
    const { head, entryCount, entryBytes } = this.start;
    const { builds, room } = this.options;
    const request = {
      accents: head.profile.accents,
      expected: { count: entryCount, bytes: entryBytes },
      cancelFlag,
      room,
    };
    return builds.build(request, async (input) => {
      await this.#addBuckets(input);
      if (!this.#isComplete) {
        await this.#add(meanwhile.takeAfter(this.#position), input);
        await this.#addWrites(input);
      }
      meanwhile.continueFrom(this.#position);
      this.progress.onAllRead();
    });
  }

  /** True: the answer to the start has all entries, with every write that ended before the load. */
  get #isComplete(): boolean {
    const { head, version, source, next, bucketCount } = this.start;
    return source === 'primary' && version === head.version && next >= bucketCount;
  }

  async #addBuckets(input: BuildInput): Promise<void> {
    let { bucketCount, next } = this.start;
    let adding = added(input, this.start.packed);
    while (next < bucketCount) {
      this.progress.onRead(next / bucketCount);
      const [read] = await Promise.all([this.#readBuckets(next), adding]);
      adding = added(input, read.packed);
      // A bucket may have been split meanwhile. Then a part of its entries is in a new bucket.
      bucketCount = read.bucketCount;
      next = read.next;
    }
    await adding;
  }

  async #readBuckets(from: number): Promise<BucketsRead> {
    const read = await this.store.readBuckets(this.name, this.start.head.generationId, from, this.source);
    if (read.kind === 'gap') throw new Interrupted('the generation was removed');
    // Another replica may be further behind.
    if (read.version < this.start.version) throw new Interrupted('the store went back to an earlier version');
    this.#see(read);
    return read;
  }

  async #add(writes: readonly Write[], input: BuildInput): Promise<void> {
    const last = writes.at(-1);
    if (last === undefined) return;
    for (const write of writes) this.#check(write);
    const changes = writes.flatMap((write) => write.changes);
    if (changes.length > 0) await input.addChanges(changes);
    this.#position = { version: last.version, tail: last.tail };
  }

  /** Applies all writes since the start. The buckets may contain some of the writes, which changes nothing. */
  async #addWrites(input: BuildInput): Promise<void> {
    const { generationId } = this.start.head;
    for (;;) {
      const read = await this.store.writesAfter(this.name, { generationId, ...this.#position });
      if (read.kind !== 'writes') throw new Interrupted('the latest writes are gone');
      this.#checkGeneration(read.head);
      await this.#add(read.writes, input);
      const last = read.writes.at(-1);
      if (last === undefined || last.version >= read.head.version) break;
    }
    for (const version of this.#seen.keys()) {
      if (version > this.#position.version) throw new Interrupted('the store has lost writes');
    }
  }

  /** A replica may be too far behind to know the generation that was live when the load began. */
  #checkGeneration({ generationId }: Head): void {
    if (this.start.source === 'replica' && generationId !== this.start.head.generationId) {
      throw new Interrupted('the generation was replaced');
    }
  }

  /** A failover may lose writes that the buckets contain. Then the version has another tail, or does not exist. */
  #check({ version, tail }: Write): void {
    const seen = this.#seen.get(version);
    if (seen !== undefined && seen !== tail) throw new Interrupted('the store has another history');
  }

  #see({ version, tail }: Position): void {
    const seen = this.#seen.get(version);
    if (seen !== undefined && seen !== tail) throw new Interrupted('the store has another history');
    this.#seen.set(version, tail);
  }
}

/** Resolves when the thread has taken the buckets. A rejection may be handled later. */
function added(input: BuildInput, packed: Uint8Array): Promise<void> {
  const adding = input.addBuckets(packed);
  adding.catch(() => undefined);
  return adding;
}

/** A single crash may have another cause than the dictionary. */
const CRASHES_WITHOUT_PAUSE = 1;

/**
 * Limits the loads of a dictionary that cannot be loaded, because each load costs time of the store and of a thread.
 * A pause follows each load that did not fit into the memory. A pause also follows each load that crashed the thread
 * of its build, except the first such load.
 */
class LoadBackoff {
  #crashCount = 0;
  #lastError: unknown;
  readonly #pause: GrowingPause;

  constructor(clock: Clock) {
    this.#pause = new GrowingPause(clock);
  }

  /**
   * True: the last load has failed because of the dictionary. A failure of the store is no failure of the dictionary.
   */
  get hasFailed(): boolean {
    return this.#lastError !== undefined;
  }

  /** Loads the dictionary. During a pause, rejects with the error of the last load. */
  async run<T>(load: () => Promise<T>): Promise<T> {
    if (!this.#pause.isOver) throw this.#lastError;
    try {
      const loaded = await load();
      this.#crashCount = 0;
      this.#lastError = undefined;
      this.#pause.reset();
      return loaded;
    } catch (error) {
      this.#lastError = error instanceof StoreFailure ? undefined : error;
      if (this.#needsPause(error)) this.#pause.begin();
      throw error;
    }
  }

  #needsPause(error: unknown): boolean {
    if (error instanceof ThreadLost) return (this.#crashCount += 1) > CRASHES_WITHOUT_PAUSE;
    // A load beside an older copy may fit when the copy is freed.
    return error instanceof NoMemory && error.heldBytes === 0;
  }
}

export interface PacedLoadsOptions {
  readonly store: LoadStore;
  readonly heads: HeadReads;
  readonly loadRate: LoadRate;
  readonly clock: Clock;
}

/** The loads of one dictionary, at the pace that all dictionaries and its own failures permit. */
export class PacedLoads {
  readonly #backoff: LoadBackoff;
  readonly #cancelFlag = newCancelFlag();
  #progress: LoadProgress | undefined;

  constructor(
    private readonly name: string,
    private readonly options: PacedLoadsOptions,
  ) {
    this.#backoff = new LoadBackoff(options.clock);
  }

  /** True: the last load has failed because of the dictionary. */
  get hasFailed(): boolean {
    return this.#backoff.hasFailed;
  }

  /** Of the load that is in progress, or of the last load. */
  get progress(): LoadProgress | undefined {
    return this.#progress;
  }

  get isClosed(): boolean {
    return Atomics.load(this.#cancelFlag, 0) !== 0;
  }

  /** Cancels the loads. No load begins any more. */
  close(): void {
    Atomics.store(this.#cancelFlag, 0, 1);
  }

  /** Undefined: closed. Rejects with a `StoreFailure`, with `NoMemory` or with `ThreadLost`. */
  async load(options: Omit<CopyOptions, 'profile'>): Promise<GenerationCopy | Missing | undefined> {
    if (this.isClosed) return undefined;
    try {
      return await this.#backoff.run(() => this.#loadInTurn(options));
    } catch (error) {
      if (this.isClosed) return undefined;
      throw error;
    }
  }

  async #loadInTurn(options: Omit<CopyOptions, 'profile'>): Promise<GenerationCopy | Missing> {
    const { loadRate, heads, store, clock } = this.options;
    const progress = new LoadProgress(clock);
    this.#progress = progress;
    if (!loadRate.isFree) {
      // Many loads wait. The head is read first, so that a dictionary that does not exist takes no place in the queue.
      const { head } = await heads.read(this.name);
      if (head.kind !== 'head') return head;
    }
    await loadRate.pass();
    return loadCopy(this.name, store, options, this.#cancelFlag, progress);
  }
}
