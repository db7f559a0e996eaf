/** A beginning of a text, and how many slips of the fingers lie between it and what was typed. */
export interface TypoMatch {
  readonly distance: number;
  /** Of the beginning, in UTF-16 units. */
  readonly end: number;
}

/**
 * How many edits are forgiven: more in a longer query, none where they would make nearly everything match. An edit
 * puts a character in, leaves one out, takes another one, or swaps two neighbours.
 */
function forgiven(length: number): number {
  if (length < 4) return 0;
  return length < 8 ? 1 : 2;
}

/**
 * Whether the text begins with something that only slips set apart from the query (also with the query itself): up to
 * 1 edit in a query of 4 to 7 code points, 2 from 8. The first character is never a slip. Both are folded.
 */
export function isTypo(query: string, text: string): boolean {
  return typoMatch(query, text) !== undefined;
}

/**
 * The beginning of the text that is nearest to the query by the optimal string alignment distance, and of several the
 * one nearest to it in length (`John` for `jonh`, not `Joh`), the longer one if need be; undefined if none is near enough. Only the cells of the matrix that can be within the allowed distance are
 * looked at, so the time is that of reading the query.
 */
export function typoMatch(query: string, text: string): TypoMatch | undefined {
  // Dictionaries are searched with this: most of what does not match ends here.
  if (query.codePointAt(0) !== text.codePointAt(0)) return undefined;
  const typed = codePoints(query, query.length);
  const allowed = forgiven(typed.length);
  if (allowed === 0) return undefined;
  const found = codePoints(text, typed.length + allowed);
  if (found.length < typed.length - allowed) return undefined;
  return nearest(lastRow(typed, found, allowed), typed.length, found, allowed);
}

/**
 * The matrix's last row: entry k is the distance between all that was typed and the first
 * `typed.length - allowed + k` of what was found; any number past `allowed` means too far.
 */
function lastRow(typed: readonly number[], found: readonly number[], allowed: number): readonly number[] {
  const width = 2 * allowed + 1;
  const far = allowed + 1;
  // One cell more than the band: what is right of it is too far.
  let beforeThat = new Array<number>(width + 1).fill(far);
  let before = beforeThat.map((_, k) => (k < allowed ? far : k - allowed));
  let current = beforeThat.slice();
  for (let row = 1; row <= typed.length; row += 1) {
    let nearest = far;
    let left = far;
    for (let k = 0; k < width; k += 1) {
      const column = row - allowed + k;
      let distance = far;
      if (column >= 0 && column <= found.length) {
        const diagonal = (before[k] ?? far) + (column > 0 && typed[row - 1] === found[column - 1] ? 0 : 1);
        distance = Math.min(diagonal, (before[k + 1] ?? far) + 1, left + 1, far);
        if (isSwap(typed, row, found, column)) distance = Math.min(distance, (beforeThat[k] ?? far) + 1);
      }
      current[k] = left = distance;
      if (distance < nearest) nearest = distance;
    }
    current[width] = far;
    // No way leads past such a row: a swap does, but from a cell whose neighbour in this row would be near enough.
    if (nearest > allowed) return current;
    [beforeThat, before, current] = [before, current, beforeThat];
  }
  return before;
}

function isSwap(typed: readonly number[], row: number, found: readonly number[], column: number): boolean {
  return (
    row > 1 && column > 1 && typed[row - 1] === found[column - 2] && typed[row - 2] === found[column - 1]
  );
}

function nearest(
  distances: readonly number[],
  typedLength: number,
  found: readonly number[],
  allowed: number,
): TypoMatch | undefined {
  const distance = Math.min(...distances);
  if (distance > allowed) return undefined;
  const ends = distances.flatMap((one, k) => (one === distance ? [k - allowed] : []));
  const difference = ends.reduce((best, one) => (Math.abs(one) <= Math.abs(best) ? one : best));
  const length = typedLength + difference;
  return { distance, end: String.fromCodePoint(...found.slice(0, length)).length };
}

/** At most so many of the text's code points. */
function codePoints(text: string, limit: number): readonly number[] {
  const found: number[] = [];
  for (let index = 0; index < text.length && found.length < limit;) {
    const codePoint = text.codePointAt(index) ?? 0;
    found.push(codePoint);
    index += codePoint > 0xffff ? 2 : 1;
  }
  return found;
}
