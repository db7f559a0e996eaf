import type { EntryCollector } from './entry-collector';
import { rankOfId } from '../layer/id-table';
import type { EntryTable } from '../layer/layer';
import { buildTable } from './layer-builder';
import { openLayer, ownMemory, sizeOfLayer, type LayerMemory, type LayerShape } from '../layer/layer-memory';
import { compareEntries, entryIdBytesAt, packedSizeAt } from '../layer/packed-entry';
import { TableWriter } from './table-writer';
import { WorkMeter } from '../work-meter';

/**
 * Returns a table with the changed entries in place of the entries with their ids, and without the deleted entries.
 * The table given stays as it is. Ids that the table does not have may be among the deleted ids. The update is much
 * faster than a build of the whole table, because it copies whole runs of entries.
 */
export function updateTable(
  table: EntryTable,
  changed: EntryCollector,
  deletedIds: readonly Uint8Array[] = [],
): LayerMemory {
  const changes = buildTable(changed);
  const dropped = droppedRanks(table, changes, deletedIds);
  const shape = shapeAfter(table, changes, dropped);
  const memory = { ...ownMemory(sizeOfLayer(shape)), shape };
  const writer = new TableWriter(openLayer(memory), new WorkMeter());
  let next = 0;
  let nextDropped = 0;
  const copyUntil = (end: number): void => {
    for (; (dropped[nextDropped] ?? end) < end; nextDropped++) {
      writer.addRanks(table, next, dropped[nextDropped] as number);
      next = (dropped[nextDropped] as number) + 1;
    }
    if (next < end) writer.addRanks(table, next, end);
    next = Math.max(next, end);
  };
  for (let rank = 0; rank < changes.count; rank++) {
    copyUntil(rankAmong(table, changes, rank));
    writer.addRanks(changes, rank, rank + 1);
  }
  copyUntil(table.count);
  writer.finish();
  return memory;
}

/** The ranks of the entries that are replaced or deleted, in rising order. */
function droppedRanks(table: EntryTable, changes: EntryTable, deletedIds: readonly Uint8Array[]): number[] {
  const ranks = new Set(deletedIds.map((id) => rankOfId(table, id)));
  for (let rank = 0; rank < changes.count; rank++) ranks.add(rankOfId(table, entryIdBytesAt(changes, rank)));
  ranks.delete(-1);
  return [...ranks].sort((a, b) => a - b);
}

function shapeAfter(table: EntryTable, changes: EntryTable, dropped: readonly number[]): LayerShape {
  let formBytes = table.forms.length + changes.forms.length;
  let entryBytes = table.entries.length + changes.entries.length;
  for (const rank of dropped) {
    formBytes -= (table.formsAt[rank + 1] as number) - (table.formsAt[rank] as number);
    entryBytes -= packedSizeAt(table.entries, table.entryAt[rank] as number);
  }
  const entryCount = table.count - dropped.length + changes.count;
  return { entryCount, formBytes, entryBytes, idSeed: table.idSeed, lists: undefined };
}

/** The number of entries of the table that come before an entry of the changes. */
function rankAmong(table: EntryTable, changes: EntryTable, changedRank: number): number {
  let low = 0;
  let high = table.count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareEntries(table, middle, changes, changedRank) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
