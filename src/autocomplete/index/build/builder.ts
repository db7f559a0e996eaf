import { randomSeed } from '../../../base/text';
import { MAX_ALIASES } from '../../suggestion';
import { rankOfId } from '../layer/id-table';
import { type EntryTable, isSuffixIndex, type SuffixIndex } from '../layer/layer';
import {
  type LayerMemory,
  type LayerShape,
  type ListLengths,
  type MemoryBlock,
  openLayer,
  ownMemory,
  sizeOfLayer,
} from '../layer/layer-memory';
import { compareEntries, entryIdBytesAt, packedSizeAt } from '../layer/packed-entry';
import { rowsByRank } from '../sort/rank-order';
import { sortSuffixes } from '../sort/suffix-sort';
import { WorkMeter } from '../work';
import { fillBranches } from './branches';
import type { CollectedRows, EntryCollector, ExpectedEntries } from './collector';
import { fillMinima } from './minima';
import { PositionSet, splitStarts, StartCounter } from './starts';
import { TableWriter } from './table-writer';

/**
 * The way of entries into a layer:
 *
 * 1. collector.ts keeps the last state of each entry, and folds the texts (collector.ts, characters.ts).
 * 2. rank-order.ts sorts the entries by rank.
 * 3. table-writer.ts copies them in this order into the memory of the layer (layer-memory.ts).
 * 4. suffix-sort.ts sorts all positions: by their first bytes (prefix-sort.ts), and if many positions have long common
 *    beginnings, by the ranks of later positions (suffix-sort.ts).
 * 5. starts.ts divides the positions into the three lists.
 */

/** A layer with at most this number of bytes of forms is searched without sorted positions. */
export const SMALL_FORM_BYTES = 64 * 1024;

export interface BuildOptions {
  /** Returns memory of at least this size. Its content is overwritten. */
  readonly allocate: (byteLength: number) => MemoryBlock;
  /** Called after each slice of work, a few milliseconds. May pause the thread, or throw to cancel the build. */
  readonly onSlice?: () => void;
  /** The default is SMALL_FORM_BYTES. */
  readonly smallFormBytes?: number;
}

/** Builds a layer from the collected entries: a small layer as an entry table, a large layer as a suffix index. */
export function buildLayer(collector: EntryCollector, options: BuildOptions): LayerMemory {
  const { allocate, onSlice, smallFormBytes = SMALL_FORM_BYTES } = options;
  const meter = new WorkMeter(onSlice);
  const isSmall = collector.formBytes <= smallFormBytes;
  return build(collector, allocate, meter, !isSmall);
}

/** Builds a layer without sorted positions in memory of its own. */
export function buildTable(collector: EntryCollector): EntryTable {
  return openLayer(build(collector, ownMemory, new WorkMeter(), false));
}

function build(
  collector: EntryCollector,
  allocate: BuildOptions['allocate'],
  meter: WorkMeter,
  isIndexed: boolean,
): LayerMemory {
  const plan = planOf(collector, isIndexed, meter);
  const memory = { ...allocate(sizeOfLayer(plan.shape)), shape: plan.shape };
  writeLayer(plan, memory);
  return memory;
}

/** A layer before it has memory. */
export interface LayerPlan {
  readonly shape: LayerShape;
  readonly rows: CollectedRows;
  /** The rows in the order of rank. */
  readonly order: Uint32Array;
  readonly meter: WorkMeter;
}

/** The first half of `buildLayer`. The collector must not change until the layer is written. */
export function planLayer(collector: EntryCollector, onSlice: () => void): LayerPlan {
  return planOf(collector, collector.formBytes > SMALL_FORM_BYTES, new WorkMeter(onSlice));
}

/** The second half of `buildLayer`. The memory has at least the size `sizeOfLayer(plan.shape)`. */
export function writeLayer({ shape, rows, order, meter }: LayerPlan, memory: LayerMemory): void {
  const layer = openLayer(memory);
  fillTable(layer, rows, order, meter);
  if (isSuffixIndex(layer) && shape.lists) fillLists(layer, shape.lists, meter);
}

function planOf(collector: EntryCollector, isIndexed: boolean, meter: WorkMeter): LayerPlan {
  const rows = collector.rows();
  const order = rowsByRank(rows, collector.entryCount, meter);
  const shape: LayerShape = {
    entryCount: collector.entryCount,
    formBytes: collector.formBytes,
    entryBytes: collector.entryBytes,
    idSeed: randomSeed(),
    lists: isIndexed ? listLengths(rows, meter) : undefined,
  };
  return { shape, rows, order, meter };
}

function listLengths(rows: CollectedRows, meter: WorkMeter): ListLengths {
  const counter = new StartCounter();
  for (let row = 0; row < rows.rowCount; row++) {
    if (!rows.isLive(row)) continue;
    const [from, to] = [rows.formsAt[row] as number, rows.formsAt[row + 1] as number];
    counter.count(rows.forms, from, to);
    meter.spend(to - from);
  }
  const { beginnings, wordStarts, otherStarts } = counter;
  return { beginnings, wordStarts, otherStarts };
}

function fillTable(table: EntryTable, rows: CollectedRows, order: Uint32Array, meter: WorkMeter): void {
  const writer = new TableWriter(table, meter);
  for (const row of order) writer.addRow(rows, row);
  writer.finish();
}

function fillLists(index: SuffixIndex, lengths: ListLengths, meter: WorkMeter): void {
  const { forms, beginnings, wordStarts, otherStarts, branches } = index;
  const { buffer, byteOffset } = beginnings.positions;
  const startCount = lengths.beginnings + lengths.wordStarts + lengths.otherStarts;
  const starts = new Uint32Array(buffer, byteOffset, startCount);
  const scratch = new Uint32Array(startCount);
  sortSuffixes(forms, starts, scratch, meter);
  splitStarts(forms, starts, lengths, beginningsAndWordStarts(index, meter), scratch, meter);
  for (const { minima } of [beginnings, wordStarts, otherStarts]) fillMinima(minima, meter);
  fillBranches(forms, beginnings.positions, branches, meter);
}

function beginningsAndWordStarts({ forms, formsAt, count }: EntryTable, meter: WorkMeter): PositionSet {
  const found = new PositionSet(forms.length);
  const counter = new StartCounter(found);
  for (let rank = 0; rank < count; rank++) {
    const [from, to] = [formsAt[rank] as number, formsAt[rank + 1] as number];
    counter.count(forms, from, to);
    meter.spend(to - from);
  }
  return found;
}

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

const WORD = Uint32Array.BYTES_PER_ELEMENT;
/** The lengths of id and record in a packed entry. */
const PACKED_HEADER = 4;
/** Position of the entry, position of its forms, selections, and 1.5 places of the table of ids. */
const COLLECTED_ROW = 4 + 4 + 8 + 6;
/**
 * Arrays of rows: six by order, and one of scores. When positions are sorted, nothing uses these arrays, but the
 * garbage collector may not have freed them.
 */
const RANKED_ROW = 6 * 4 + 8;
/** For sorted positions: tables of pairs of bytes, of character classes and of folds, and the spare memory of the sort. */
const TABLES = 3 * 2 ** 20;

/** The memory of a collector with these entries (bytes), an upper bound unless folding makes the texts longer. */
export function collectorBytes({ count, bytes }: ExpectedEntries): number {
  const packedBytes = bytes + PACKED_HEADER * count;
  const formBytes = bytes + count;
  return packedBytes + formBytes + COLLECTED_ROW * count;
}

/** The memory of a build with its layer (bytes), an upper bound unless folding makes the texts longer. */
export function mostBuildBytes(expected: ExpectedEntries): number {
  const { count, bytes } = expected;
  const formBytes = bytes + count;
  const beginnings = Math.min((1 + MAX_ALIASES) * count, formBytes);
  const shape: LayerShape = {
    entryCount: count,
    formBytes,
    entryBytes: bytes + PACKED_HEADER * count,
    idSeed: 0,
    lists: { beginnings, wordStarts: 0, otherStarts: formBytes - beginnings },
  };
  return collectorBytes(expected) + sortBytes(shape) + sizeOfLayer(shape);
}

/**
 * The memory that a build needs beside its collector and its layer (bytes), an upper bound. Only many long repeats need
 * the ranks of positions.
 */
export function sortBytes({ entryCount, formBytes, lists }: LayerShape): number {
  const byRank = RANKED_ROW * entryCount;
  if (lists === undefined) return byRank;
  const positionCount = lists.beginnings + lists.wordStarts + lists.otherStarts;
  const scratch = WORD * positionCount;
  const ranks = WORD * formBytes;
  const wordStarts = Math.ceil(positionCount / 8);
  return byRank + scratch + ranks + wordStarts + TABLES;
}
