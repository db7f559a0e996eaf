import type { Clock } from '../../base/clock';
import { StoreFailure } from '../../base/errors';
import { pause } from '../../flow/waiting';
import type { Commands } from '../../redis/commands';
import type { RawArgument, Script } from '../../redis/script';
import type { Missing, StoredEntry } from '../entry-store';
import { chunkKey, newWriteId } from './entry-keys';
import {
  type EntryCommands,
  HEAD_FIELDS,
  OK,
  type Ok,
  readHead,
  readImportStep,
  readWritten,
  scripts,
  type Written,
} from './entry-replies';
import { pack, type Packable, packedTextBytes } from './packing';

/** Puts and imports are refused above this share of `maxmemory`. The rest is for leases. */
const MOST_MEMORY_SHARE = 0.8;
/**
 * Puts and imports wait while a replica is behind by more than this number of bytes. So a failover loses little, and no
 * replica falls far behind.
 */
const MOST_LAG_BYTES = 8 * 2 ** 20;
/** The pause between two checks (ms). A new report of the node comes about once a second. */
const PAUSE_MS = 250;
/** The longest wait of one call, for all its chunks together. */
const LONGEST_WAIT_MS = 30_000;

/** The chunks of one call. */
interface BulkCall {
  /** Resolves when the next chunk may be written. Rejects if memory is short, or if replicas stay behind. */
  admit(key: string): Promise<void>;
}

/**
 * Protects leases from the writes of dictionaries. The command window already sends these writes last
 * (window.ts). This class refuses the writes while memory is short, and delays the writes while replicas are
 * behind.
 */
export class BulkWrites {
  constructor(
    private readonly commands: Pick<Commands, 'reportOf'>,
    private readonly clock: Clock,
  ) {}

  newCall(): BulkCall {
    let waitedMs = 0;
    return {
      admit: async (key) => {
        for (;;) {
          const report = this.commands.reportOf(key);
          if ((report?.memoryShare ?? 0) >= MOST_MEMORY_SHARE) throw new StoreFailure('no', 'full');
          if ((report?.replicaLagBytes ?? 0) <= MOST_LAG_BYTES) return;
          if (waitedMs >= LONGEST_WAIT_MS) throw new StoreFailure('no', 'overloaded');
          await pause(this.clock, PAUSE_MS);
          waitedMs += PAUSE_MS;
        }
      },
    };
  }
}

/**
 * Bounds of one chunk, which one script writes. A script of 100 puts takes 0.4 to 0.7 ms
 * (docs/design/decisions/021-entries-in-hash-buckets.md).
 */
const MOST_CHUNK_ENTRIES = 100;
const MOST_CHUNK_BYTES = 64 * 1024;

/**
 * If several entries have the same id, the last entry counts. Each chunk is packed when the caller asks for the chunk,
 * because the packing of 4 MiB at once would hold the main thread for several milliseconds.
 */
export function putChunks(entries: readonly StoredEntry[]): Generator<Buffer, undefined> {
  const last = new Map(entries.map((entry) => [entry.entryId, entry.record]));
  return chunks(last, ([entryId, record]) => [entryId, record]);
}

function deleteChunks(entryIds: readonly string[]): Generator<Buffer, undefined> {
  return chunks(new Set(entryIds), (entryId) => [entryId]);
}

function* chunks<T>(
  items: Iterable<T>,
  valuesOf: (item: T) => readonly (string | Uint8Array)[],
): Generator<Buffer, undefined> {
  let values: Packable[] = [];
  let [count, bytes] = [0, 0];
  for (const item of items) {
    const own = valuesOf(item);
    const size = own.reduce((sum, value) => sum + packedTextBytes(value), 0);
    if (count > 0 && (count === MOST_CHUNK_ENTRIES || bytes + size > MOST_CHUNK_BYTES)) {
      yield pack(values);
      values = [];
      [count, bytes] = [0, 0];
    }
    values.push(...own);
    count += 1;
    bytes += size;
  }
  if (count > 0) yield pack(values);
}

/** How long the chunks of a put wait for its commit (ms). Longer than a command with all its retries. */
const STAGED_MS = 120_000;

/** Writes of the live generation of dictionaries. Each write has an id, so that a repeated command changes nothing. */
export class EntryWrites {
  constructor(
    private readonly on: EntryCommands,
    private readonly bulk: BulkWrites,
  ) {}

  async put(name: string, entries: readonly StoredEntry[]): Promise<Ok | Missing> {
    const chunks = putChunks(entries);
    const first = chunks.next().value;
    if (first === undefined) return OK;
    const admission = this.bulk.newCall();
    await admission.admit(this.on.keyOf(name));
    const second = chunks.next().value;
    const written =
      second === undefined
        ? await this.write(scripts.put, name, newWriteId(), [first])
        : await this.putStaged(name, admission, [first, second], chunks);
    return written.kind === 'written' ? OK : written;
  }

  async delete(name: string, entryIds: readonly string[]): Promise<(Ok & { deleted: number }) | Missing> {
    let deleted = 0;
    for (const chunk of deleteChunks(entryIds)) {
      const written = await this.write(scripts.delete, name, newWriteId(), [chunk]).catch(
        (error: unknown) => {
          throw deleted > 0 ? partlyDone(error) : error;
        },
      );
      if (written.kind !== 'written') return written;
      deleted += written.effect;
    }
    return { kind: 'ok', deleted };
  }

  async select(
    name: string,
    entryId: string,
    count: number,
  ): Promise<(Ok & { count: number | undefined }) | Missing> {
    const written = await this.write(scripts.select, name, newWriteId(), [entryId, count]);
    if (written.kind !== 'written') return written;
    return { kind: 'ok', count: written.effect < 0 ? undefined : written.effect };
  }

  /** Stages the chunks, commits them with one script, and then lets bounded scripts write them to the buckets. */
  private async putStaged(
    name: string,
    admission: BulkCall,
    first: readonly Buffer[],
    others: Iterable<Buffer>,
  ): Promise<Written | Missing> {
    // Without a dictionary, the chunks would take memory until they expire.
    const head = await this.on.send('HMGET', name, HEAD_FIELDS, readHead);
    if (head.kind !== 'head') return head;
    const [key, writeId] = [this.on.keyOf(name), newWriteId()];
    let count = 0;
    for (const chunks of [first, others]) {
      for (const chunk of chunks) await this.stage(chunkKey(key, writeId, count++), admission, chunk);
    }
    const written = await this.write(scripts.putStaged, name, writeId, [count]);
    if (written.kind === 'written') while (await this.finishStep(name));
    return written;
  }

  private async stage(key: string, admission: BulkCall, chunk: Buffer): Promise<void> {
    try {
      await admission.admit(key);
      const args = [chunk, 'PX', STAGED_MS];
      await this.on.commands.send({ run: 'SET', keys: [key], args, read: () => undefined, isRaw: true });
    } catch (error) {
      // A staged chunk has no effect.
      throw error instanceof StoreFailure ? new StoreFailure('no', error.kind, { cause: error }) : error;
    }
  }

  /**
   * Does a step of the work that writes wait for. Returns true if work is left. A failure is not reported: the caller's
   * own write is committed, or is sent again. Every later write and every sweep continues the work.
   */
  private async finishStep(name: string): Promise<boolean> {
    try {
      return (await this.on.send(scripts.finish, name, [], readImportStep)).kind === 'again';
    } catch (error) {
      if (!(error instanceof StoreFailure)) throw error;
      return false;
    }
  }

  private async write(
    one: Script,
    name: string,
    writeId: string,
    args: readonly RawArgument[],
  ): Promise<Written | Missing> {
    for (;;) {
      const written = await this.on.send(one, name, [writeId, ...args], readWritten);
      if (written.kind !== 'again') return written;
      await this.finishStep(name);
    }
  }
}

/** Some changes of the call are made, so the outcome of the call is unknown. */
export function partlyDone(error: unknown): unknown {
  return error instanceof StoreFailure ? new StoreFailure('unknown', error.kind, { cause: error }) : error;
}
