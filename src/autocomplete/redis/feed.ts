import type { EntryChange, Gap, Missing, Write, Writes } from '../entry-store';
import { Slices } from '../../flow/turns';
import type { Clock } from '../../base/clock';
import { chunkKey } from './entry-keys';
import { type EntryCommands, GAP, readElements, scripts } from './entry-replies';
import { PackReader, type Unpacked } from './packing';

/** Reads the last writes of a dictionary. autocomplete/scripts/shared/feed.lua describes the elements of the feed. */
export class EntryFeed {
  constructor(
    private readonly on: EntryCommands,
    private readonly clock: Clock,
  ) {}

  async writesAfter(
    name: string,
    after: { readonly generationId: string; readonly version: number; readonly tail: string },
  ): Promise<Writes | Gap | Missing> {
    const args = [after.generationId, after.version, after.tail];
    const read = await this.on.send(scripts.writesAfter, name, args, readElements);
    if (read.kind !== 'elements') return read;
    const elements: Element[] = [];
    const writes: Write[] = [];
    // An answer may have thousands of writes.
    const slices = new Slices(this.clock);
    for (const element of read.elements) {
      elements.push(readElement(element));
      if (slices.isOver) await slices.pause();
    }
    for (const [index, element] of elements.entries()) {
      const changes = await this.changesOf(name, element);
      // The element was trimmed since it was read, and its chunks with it.
      if (changes === undefined) return GAP;
      const { before } = element;
      const tail = elements[index + 1]?.before ?? read.tail;
      writes.push({ version: after.version + 1 + index, before, tail, changes });
      if (slices.isOver) await slices.pause();
    }
    return { kind: 'writes', writes, head: read.head };
  }

  private async changesOf(name: string, { id, kind, values }: Element): Promise<EntryChange[] | undefined> {
    if (kind !== 'b') return changesOf(kind, values);
    const changes: EntryChange[] = [];
    for (let number = 0; number < Number(values[0]); number += 1) {
      const chunk = await this.chunk(name, id, number);
      if (chunk === undefined) return undefined;
      changes.push(...changesOf('p', new PackReader(chunk).value() as Unpacked[]));
    }
    return changes;
  }

  private chunk(name: string, writeId: string, number: number): Promise<Buffer | undefined> {
    const keys = [chunkKey(this.on.keyOf(name), writeId, number)];
    const read = (reply: unknown) => (reply as Buffer | null) ?? undefined;
    return this.on.commands.send({ run: 'GET', keys, args: [], read, isRaw: true });
  }
}

/** An element of the feed. `values` are the changes, and `before` is the tail before the write. */
interface Element {
  readonly before: string;
  readonly id: string;
  readonly kind: string;
  readonly values: readonly Unpacked[];
}

function readElement(element: Buffer): Element {
  const reader = new PackReader(element);
  const [before, id, , kind] = (reader.value() as Unpacked[]).map(String) as [string, string, string, string];
  return { before, id, kind, values: reader.value() as Unpacked[] };
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
