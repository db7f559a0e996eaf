import { fillBranches } from './branches';
import { PositionSet, splitStarts, StartCounter } from './character-starts';
import type { CollectedRows, EntryCollector } from './entry-collector';
import { randomSeed } from '../../../base/id-hash';
import { isSuffixIndex, type EntryTable, type SuffixIndex } from '../layer/layer';
import {
  openLayer,
  ownMemory,
  sizeOfLayer,
  type LayerMemory,
  type LayerShape,
  type ListLengths,
  type MemoryBlock,
} from '../layer/layer-memory';
import { fillMinima } from './minima';
import { rowsByRank } from '../sort/rank-order';
import { sortSuffixes } from '../sort/suffix-sort';
import { TableWriter } from './table-writer';
import { WorkMeter } from '../work-meter';

/**
 * The way of entries into a layer:
 *
 * 1. entry-collector.ts keeps the last state of each entry, and folds the texts (form-writer.ts, character-folds.ts).
 * 2. rank-order.ts sorts the entries by rank.
 * 3. table-writer.ts copies them in this order into the memory of the layer (layer-memory.ts).
 * 4. suffix-sort.ts sorts all positions: by their first bytes (prefix-sort.ts), and if many positions have long common
 *    beginnings, by the ranks of later positions (prefix-doubling.ts).
 * 5. character-starts.ts divides the positions into the three lists.
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
