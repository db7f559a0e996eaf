/** What the characters read so far say about the form. */
export const UNDECIDED = 0;
/** The characters are a typo of the query, so each form that begins with the characters matches. */
export const MATCHES = 1;
/** No form that begins with the characters matches. */
export const TOO_FAR = 2;

/** A distance that is not exact, but larger than every allowed number of edits. */
const FAR = 100;

/**
 * The edit distances between a query and the beginnings of one form: the optimal string alignment distance, as in
 * typo.ts. The row d has the distances of the first d characters of the form to the beginnings of the query. Only
 * beginnings with d - maxEdits to d + maxEdits characters can be near enough, so a row has only these cells and a border
 * cell at each end. The rows stay until a character at a lower depth replaces them, so forms with a common beginning
 * share the rows of this beginning.
 */
export class EditRows {
  readonly #query: readonly number[];
  readonly #maxEdits: number;
  readonly #width: number;
  readonly #cells: Uint8Array;
  /** The characters of the form, from depth 1. */
  readonly #characters: Int32Array;

  constructor(query: readonly number[], maxEdits: number) {
    const rows = query.length + maxEdits + 1;
    this.#query = query;
    this.#maxEdits = maxEdits;
    this.#width = 2 * maxEdits + 3;
    this.#cells = new Uint8Array(rows * this.#width).fill(FAR);
    this.#characters = new Int32Array(rows);
    for (let column = 0; column <= maxEdits; column += 1) this.#cells[column + maxEdits + 1] = column;
  }

  /** A match is decided after at most this number of characters. */
  get maxDepth(): number {
    return this.#query.length + this.#maxEdits;
  }

  /** Adds the row of the character at this depth. The rows of all lower depths are those of the same form. */
  add(character: number, depth: number): number {
    const query = this.#query;
    const cells = this.#cells;
    const maxEdits = this.#maxEdits;
    const width = this.#width;
    const characters = this.#characters;
    characters[depth] = character;
    const before = characters[depth - 1];
    const row = depth * width;
    let nearest = FAR;
    let left = FAR;
    for (let cell = 1; cell < width - 1; cell += 1) {
      const column = depth + cell - maxEdits - 1;
      let distance = FAR;
      if (column === 0) distance = depth;
      else if (column > 0 && column <= query.length) {
        const typed = query[column - 1];
        const replaced = (cells[row - width + cell] as number) + (typed === character ? 0 : 1);
        const inserted = (cells[row - width + cell + 1] as number) + 1;
        distance = Math.min(replaced, inserted, left + 1);
        if (typed === before && depth > 1 && column > 1 && query[column - 2] === character) {
          distance = Math.min(distance, (cells[row - 2 * width + cell] as number) + 1);
        }
      }
      cells[row + cell] = left = distance;
      if (distance < nearest) nearest = distance;
    }
    const whole = query.length - depth + maxEdits + 1;
    if (whole < width - 1 && (cells[row + whole] as number) <= maxEdits) return MATCHES;
    // A swap skips a row, but then a cell of the skipped row is near enough too.
    return nearest > maxEdits || depth === this.maxDepth ? TOO_FAR : UNDECIDED;
  }
}
