/** The facts about a layer of a copy that decide its merges. */
export interface LayerSize {
  /** About the bytes that the living entries of the layer take. */
  readonly livingBytes: number;
  /** The bytes of all entries of the layer. */
  readonly bytes: number;
  /** True: the main thread made the layer of the latest writes, and adds the next writes while the layer is small. */
  readonly takesWrites: boolean;
  /** True: a merge of this layer is in progress. */
  readonly isMerging: boolean;
}

/** Neighbouring layers that become one layer: from `start`, before `end`. */
export interface Merge {
  readonly start: number;
  readonly end: number;
}

/** A layer joins a merge if it is at most this many times as large as the layers before it together. */
const GROWTH = 4;

/**
 * Chooses the layers to merge; undefined: none. `layers` are sorted from new to old. The newest layer takes writes
 * until it has `firstBytes`, and is not merged before. A merge takes the layers after the first as long as they are not
 * much larger than the merge so far. So sizes grow about four times from layer to layer: a copy has few layers, and an
 * entry is written a few times until it is in the oldest layer. A layer that is mostly dead is merged too. A merge with
 * the oldest layer takes all layers, so that the oldest layer always has all entries of one version.
 */
export function planMerge(layers: readonly LayerSize[], firstBytes: number): Merge | undefined {
  const plan = planOfGrowth(layers, firstBytes) ?? planOfDead(layers);
  if (plan?.end !== layers.length) return plan;
  return layers.some(({ isMerging }) => isMerging) ? undefined : { start: 0, end: plan.end };
}

function planOfGrowth(layers: readonly LayerSize[], firstBytes: number): Merge | undefined {
  const [newest] = layers;
  const start = newest?.takesWrites && newest.bytes < firstBytes ? 1 : 0;
  const first = layers[start];
  if (first === undefined || first.isMerging) return undefined;
  const end = endOfMerge(layers, start);
  return first.takesWrites || end > start + 1 ? { start, end } : undefined;
}

function planOfDead(layers: readonly LayerSize[]): Merge | undefined {
  const start = layers.findIndex(
    ({ livingBytes, bytes, isMerging }, index) => index > 0 && !isMerging && livingBytes < bytes / 2,
  );
  return start < 0 ? undefined : { start, end: start + 1 };
}

function endOfMerge(layers: readonly LayerSize[], start: number): number {
  let bytes = 0;
  for (let index = start; index < layers.length; index += 1) {
    const { livingBytes, isMerging } = layers[index] as LayerSize;
    if (isMerging || (index > start && livingBytes > GROWTH * bytes)) return index;
    bytes += livingBytes;
  }
  return layers.length;
}
