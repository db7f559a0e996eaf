import type { Layer } from '../index/layer/layer';
import type { LayerMemory } from '../index/layer/layer-memory';

/**
 * A layer and its memory. Every view with the layer, and every search in another thread, holds the layer. The memory is
 * freed when nobody holds the layer any more.
 */
export class HeldLayer {
  #holdCount = 1;

  /** The creator holds the layer. */
  constructor(
    readonly layer: Layer,
    readonly memory: LayerMemory,
    readonly byteLength: number,
    private readonly free: () => void,
  ) {}

  hold(): void {
    if (this.#holdCount === 0) throw new Error('the memory of the layer is already free');
    this.#holdCount += 1;
  }

  release(): void {
    if (this.#holdCount === 0) throw new Error('the memory of the layer is already free');
    this.#holdCount -= 1;
    if (this.#holdCount === 0) this.free();
  }
}
