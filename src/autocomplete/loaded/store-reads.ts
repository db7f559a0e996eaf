import type { Clock } from '../../base/clock';
import { nextTurn } from '../../flow/turns';
import type { EntryStore, Gap, Head, Missing, Write, Writes } from '../entry-store';
import type { IndexMemory } from './index-memory';
import type { Position } from './levels';

/** The feed keeps the writes of a minute, unless they fill it. */
const INTERVAL_MS = 5000;
/** More bytes of writes are not kept. Then the load may have to begin again. */
const MOST_BYTES = 16 * 2 ** 20;
/** The memory of a change apart from its id and record. */
const CHANGE_BYTES = 200;

/**
 * Reads the writes that are made during a long load before the feed forgets them. Otherwise a dictionary whose load takes
 * longer than the feed lasts would be loaded again and again.
 */
export class WritesMeanwhile {
  #kept: Write[] = [];
  #bytes = 0;
  #uncount: () => void = () => undefined;
  #timer: ReturnType<Clock['after']> | undefined;
  /** The number of the present series of reads. */
  #series = 0;

  /** `from`: the position of the load so far. */
  constructor(
    private from: Position,
    private readonly read: (after: Position) => Promise<Writes | Gap | Missing>,
    private readonly clock: Clock,
    private readonly memory: IndexMemory,
  ) {
    this.#wait(this.#series);
  }

  /** The kept writes that follow the position. They are not kept any more. */
  takeAfter(position: Position): Write[] {
    const writes = this.#kept.filter(({ version }) => version > position.version);
    this.#keepNone();
    const [first] = writes;
    // After a failover, the kept writes may belong to another history than the position.
    return first?.before === position.tail ? writes : [];
  }

  /** Keeps only writes after this position. Also reads on if the bound or a gap has ended the reads. */
  continueFrom(position: Position): void {
    this.end();
    this.from = position;
    this.#wait(this.#series);
  }

  end(): void {
    this.#series += 1;
    this.#timer?.cancel();
    this.#keepNone();
  }

  #wait(series: number): void {
    this.#timer = this.clock.after(INTERVAL_MS, () => void this.#readOn(series));
  }

  async #readOn(series: number): Promise<void> {
    // If this read fails, a later one may succeed.
    const read = await this.read(this.from).catch(() => undefined);
    if (series !== this.#series) return;
    if (read === undefined) return this.#wait(series);
    if (read.kind !== 'writes') return;
    this.#keep(read.writes);
    if (this.#bytes >= MOST_BYTES) return;
    // A generation that was replaced has no more writes, and the version of the other one is no goal.
    if (read.writes.length > 0 && this.from.version < read.head.version) void this.#readOn(series);
    else this.#wait(series);
  }

  #keep(writes: readonly Write[]): void {
    const last = writes.at(-1);
    if (last === undefined) return;
    this.#kept.push(...writes);
    this.from = { version: last.version, tail: last.tail };
    for (const { changes } of writes) {
      for (const change of changes) {
        const recordBytes = change.kind === 'put' ? change.record.length : 0;
        this.#bytes += CHANGE_BYTES + change.entryId.length + recordBytes;
      }
    }
    this.#uncount();
    const counted = this.memory.count(this.#bytes);
    this.#uncount = () => counted.free();
  }

  #keepNone(): void {
    this.#kept = [];
    this.#bytes = 0;
    this.#uncount();
  }
}

/** The state of a dictionary, read after the query that asked for it. */
export interface HeadRead {
  readonly head: Head | Missing;
  /** The head is not older than this time (ms, monotonic clock). */
  readonly notBefore: number;
}

/**
 * Reads the heads of dictionaries for queries. All queries of one turn of the event loop share the read of their
 * dictionary, which is sent at the end of the turn. So each query gets a head that is not older than the query.
 */
export class HeadReads {
  private readonly waiting = new Map<string, Promise<HeadRead>>();

  constructor(
    private readonly store: Pick<EntryStore, 'head'>,
    private readonly clock: Clock,
  ) {}

  /** Rejects with a `StoreFailure`. */
  read(name: string): Promise<HeadRead> {
    let read = this.waiting.get(name);
    if (read === undefined) {
      read = this.readAtEndOfTurn(name);
      this.waiting.set(name, read);
    }
    return read;
  }

  private async readAtEndOfTurn(name: string): Promise<HeadRead> {
    await nextTurn();
    this.waiting.delete(name);
    const notBefore = this.clock.now();
    return { head: await this.store.head(name), notBefore };
  }
}
