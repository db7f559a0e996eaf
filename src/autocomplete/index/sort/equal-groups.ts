import { grown } from '../growable';

/** A list of ranges of an array, in typed arrays, because there may be millions of ranges. */
export class EqualGroups {
  /** Pairs of start and end. */
  #bounds = new Uint32Array(64);
  #length = 0;

  get count(): number {
    return this.#length / 2;
  }

  add(start: number, end: number): void {
    this.#bounds = grown(this.#bounds, this.#length + 2);
    this.#bounds[this.#length++] = start;
    this.#bounds[this.#length++] = end;
  }

  start(group: number): number {
    return this.#bounds[2 * group] as number;
  }

  end(group: number): number {
    return this.#bounds[2 * group + 1] as number;
  }
}
