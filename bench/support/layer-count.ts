import { GenerationCopy } from '../../src/engine/autocomplete/loaded/generation-copy';

/** Counts the layers of dictionaries after each write that this server applies. */
export class LayerCount {
  private most = 0;

  constructor() {
    const { apply } = GenerationCopy.prototype;
    const note = (count: number) => (this.most = Math.max(this.most, count));
    GenerationCopy.prototype.apply = async function (writes) {
      await apply.call(this, writes);
      note(this.levels.length);
    };
  }

  /** The largest number since the last time of asking. */
  read(): number {
    const { most } = this;
    this.most = 0;
    return most;
  }
}
