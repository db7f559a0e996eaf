/** A layer of a view, as the plan of merges sees it. */
export interface LayerSize {
  /** The bytes that the living entries of the layer take, about. */
  readonly livingBytes: number;
  /** The bytes of all entries of the layer. */
  readonly bytes: number;
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
 * Chooses the layers to merge; undefined: none. `layers` are the newest first. The first layer takes new writes until it
 * has `firstBytes`, and is not merged before. A merge takes the layers after the first as long as they are not much
 * larger than the merge so far. So sizes grow about four times from layer to layer: a view has few layers, and an entry
 * is written a few times until it is in the oldest layer. A layer that is mostly dead is merged alone.
 */
export function planMerge(layers: readonly LayerSize[], firstBytes: number): Merge | undefined {
  const start = (layers[0]?.bytes ?? 0) >= firstBytes ? 0 : 1;
  const first = layers[start];
  if (first && !first.isMerging && (start === 0 || joinsNext(layers, start))) {
    return { start, end: endOfMerge(layers, start) };
  }
  const mostlyDead = layers.findIndex(
    ({ livingBytes, bytes, isMerging }, index) => index > 0 && !isMerging && livingBytes < bytes / 2,
  );
  return mostlyDead < 0 ? undefined : { start: mostlyDead, end: mostlyDead + 1 };
}

/** True: the layer after this layer is small enough to be merged with this layer. */
function joinsNext(layers: readonly LayerSize[], index: number): boolean {
  return endOfMerge(layers, index) > index + 1;
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
