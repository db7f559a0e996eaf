import type { Clock } from '../../clock';
import type { Gap, Missing, Write, Writes } from '../entry-store';
import type { IndexMemory } from './index-memory';
import type { Position } from './position';

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
  #isEnded = false;

  /** `from`: the position of the load so far. */
  constructor(
    private from: Position,
    private readonly read: (after: Position) => Promise<Writes | Gap | Missing>,
    private readonly clock: Clock,
    private readonly memory: IndexMemory,
  ) {
    this.#wait();
  }

  /** The kept writes that follow the position. They are not kept any more. */
  takeAfter(position: Position): Write[] {
    const writes = this.#kept.filter(({ version }) => version > position.version);
    this.#keepNone();
    const [first] = writes;
    // After a failover, the kept writes may belong to another history than the position.
    return first?.before === position.tail ? writes : [];
  }

  /** Keeps only writes after this position. */
  continueFrom(position: Position): void {
    this.#keepNone();
    this.from = position;
  }

  end(): void {
    this.#isEnded = true;
    this.#timer?.cancel();
    this.#keepNone();
  }

  #wait(): void {
    this.#timer = this.clock.after(INTERVAL_MS, () => void this.#readOn());
  }

  async #readOn(): Promise<void> {
    const { from } = this;
    // If this read fails, a later one may succeed.
    const read = await this.read(from).catch(() => undefined);
    if (this.#isEnded) return;
    if (read?.kind === 'writes' && this.from === from) this.#keep(read.writes);
    const isBehind = read?.kind === 'writes' && this.from.version < read.head.version;
    if (read !== undefined && read.kind !== 'writes') return;
    if (this.#bytes >= MOST_BYTES) return;
    if (isBehind) void this.#readOn();
    else this.#wait();
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
