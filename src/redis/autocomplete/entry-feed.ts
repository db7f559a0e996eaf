import type { EntryChange, Gap, Missing, Write, Writes } from '../../engine/autocomplete/entry-store';
import { scripts, type EntryCommands } from './entry-commands';
import { GAP, readElements } from './entry-replies';
import { PackReader, type Unpacked } from './packing';

/** Reads the last writes of a dictionary. scripts/entries/shared/feed.lua describes the elements of the feed. */
export class EntryFeed {
  constructor(private readonly on: EntryCommands) {}

  async writesAfter(
    name: string,
    after: { readonly generationId: string; readonly version: number; readonly tail: string },
  ): Promise<Writes | Gap | Missing> {
    const args = [after.generationId, after.version, after.tail];
    const read = await this.on.run(scripts.writesAfter, name, args, readElements);
    if (read.kind !== 'elements') return read;
    const writes: Write[] = [];
    for (const [index, element] of read.elements.entries()) {
      const write = await this.writeOf(name, element, after.version + 1 + index);
      // The element was trimmed since it was read, and its chunks with it.
      if (write === undefined) return GAP;
      writes.push(write);
    }
    return { kind: 'writes', writes, head: read.head };
  }

  private async writeOf(name: string, element: Buffer, version: number): Promise<Write | undefined> {
    const reader = new PackReader(element);
    const [before, id, , kind] = reader.value() as Buffer[];
    const values = reader.value() as Unpacked[];
    const write = { version, before: String(before), id: String(id) };
    if (String(kind) !== 'b') return { ...write, changes: changesOf(String(kind), values) };
    const changes: EntryChange[] = [];
    for (let number = 0; number < Number(values[0]); number += 1) {
      const chunk = await this.chunk(name, write.id, number);
      if (chunk === undefined) return undefined;
      changes.push(...changesOf('p', new PackReader(chunk).value() as Unpacked[]));
    }
    return { ...write, changes };
  }

  private chunk(name: string, writeId: string, number: number): Promise<Buffer | undefined> {
    const key = this.on.chunkKey(name, writeId, number);
    return this.on.commands.query('GET', [key], (reply) => (reply as unknown as Buffer | null) ?? undefined);
  }
}

function changesOf(kind: string, values: readonly Unpacked[]): EntryChange[] {
  switch (kind) {
    case 'p':
      return pairsOf(values).map(([id, record]) => ({
        kind: 'put',
        entryId: String(id),
        record: record as Buffer,
      }));
    case 's':
      return pairsOf(values).map(([id, count]) => ({
        kind: 'select',
        entryId: String(id),
        selectionCount: Number(count),
      }));
    case 'd':
      return values.map((id) => ({ kind: 'delete', entryId: String(id) }));
    case 'c':
      return [];
  }
  throw new Error(`the feed has an unknown kind of write: ${kind}`);
}

function pairsOf(values: readonly Unpacked[]): [Unpacked, Unpacked][] {
  return Array.from({ length: values.length / 2 }, (_, i) => [
    values[2 * i] as Unpacked,
    values[2 * i + 1] as Unpacked,
  ]);
}
