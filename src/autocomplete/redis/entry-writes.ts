import type { Missing, StoredEntry } from '../entry-store';
import { StoreFailure } from '../../base/errors';
import type { RawArgument, Script } from '../../redis/operation';
import type { BulkCall, BulkWrites } from './bulk-writes';
import { deleteChunks, putChunks } from './entry-chunks';
import { newWriteId, scripts, type EntryCommands } from './entry-commands';
import {
  HEAD_FIELDS,
  OK,
  readHead,
  readImportStep,
  readWritten,
  type Ok,
  type Written,
} from './entry-replies';

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
    const head = await this.on.commands.query('HMGET', [this.on.keyOf(name), ...HEAD_FIELDS], readHead);
    if (head.kind !== 'head') return head;
    const writeId = newWriteId();
    let count = 0;
    for (const chunks of [first, others]) {
      for (const chunk of chunks)
        await this.stage(this.on.chunkKey(name, writeId, count++), admission, chunk);
    }
    const written = await this.write(scripts.putStaged, name, writeId, [count]);
    if (written.kind === 'written') while (await this.finishStep(name));
    return written;
  }

  private async stage(key: string, admission: BulkCall, chunk: Buffer): Promise<void> {
    try {
      await admission.admit(key);
      await this.on.commands.query('SET', [key, chunk, 'PX', STAGED_MS], () => undefined);
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
      return (await this.on.run(scripts.finish, name, [], readImportStep)).kind === 'again';
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
      const written = await this.on.runTimed(one, name, [writeId, ...args], readWritten);
      if (written.kind !== 'again') return written;
      await this.finishStep(name);
    }
  }
}

/** Some changes of the call are made, so the outcome of the call is unknown. */
export function partlyDone(error: unknown): unknown {
  return error instanceof StoreFailure ? new StoreFailure('unknown', error.kind, { cause: error }) : error;
}
