/** The prefix of a text that matches a query with typos. */
export interface TypoMatch {
  /** Edits between the query and the prefix. */
  readonly distance: number;
  /** Length of the prefix in UTF-16 units. */
  readonly end: number;
}

/**
 * The largest edit distance for a query of this length. Short queries allow no edits, because a short query with edits
 * matches nearly every text. An edit inserts, deletes or replaces a character, or swaps two neighbours.
 */
export function allowedEdits(length: number): number {
  if (length < 4) return 0;
  return length < 8 ? 1 : 2;
}

/**
 * Whether the text begins with the query or with a typo of the query: edit distance 1 for 4 to 7 code points, 2 from
 * 8 on. The first character must be equal. Both texts are folded.
 */
export function isTypo(query: string, text: string): boolean {
  return typoMatch(query, text) !== undefined;
}

/**
 * The prefix of the text with the smallest distance to the query (optimal string alignment distance). If several
 * prefixes have this distance, the prefix closest to the query's length wins (`John` for `jonh`, not `Joh`), then the
 * longer prefix. Undefined if no prefix is close enough. The time is linear in the query's length, because only the
 * matrix cells within the allowed distance are computed.
 */
export function typoMatch(query: string, text: string): TypoMatch | undefined {
  // Most texts of a dictionary fail this cheap check.
  if (query.codePointAt(0) !== text.codePointAt(0)) return undefined;
  const typed = codePoints(query, query.length);
  const maxDistance = allowedEdits(typed.length);
  if (maxDistance === 0) return undefined;
  const characters = codePoints(text, typed.length + maxDistance);
  if (characters.length < typed.length - maxDistance) return undefined;
  return bestMatch(lastRow(typed, characters, maxDistance), typed.length, characters, maxDistance);
}

/**
 * The last row of the matrix. Cell k is the distance of the whole query to the first `typed.length - maxDistance + k`
 * characters. A value above `maxDistance` is not exact.
 */
function lastRow(
  typed: readonly number[],
  characters: readonly number[],
  maxDistance: number,
): readonly number[] {
  const width = 2 * maxDistance + 1;
  const tooFar = maxDistance + 1;
  // Each row has one extra cell, so that the last cell of the band has a right neighbour.
  let twoRowsBack = new Array<number>(width + 1).fill(tooFar);
  let rowBefore = twoRowsBack.map((_, k) => (k < maxDistance ? tooFar : k - maxDistance));
  let current = twoRowsBack.slice();
  for (let row = 1; row <= typed.length; row += 1) {
    let nearest = tooFar;
    let left = tooFar;
    for (let k = 0; k < width; k += 1) {
      const column = row - maxDistance + k;
      let distance = tooFar;
      if (column >= 0 && column <= characters.length) {
        const diagonal =
          (rowBefore[k] ?? tooFar) + (column > 0 && typed[row - 1] === characters[column - 1] ? 0 : 1);
        distance = Math.min(diagonal, (rowBefore[k + 1] ?? tooFar) + 1, left + 1, tooFar);
        if (isSwap(typed, row, characters, column))
          distance = Math.min(distance, (twoRowsBack[k] ?? tooFar) + 1);
      }
      current[k] = left = distance;
      if (distance < nearest) nearest = distance;
    }
    current[width] = tooFar;
    // No later row can be near enough. A swap skips a row, but then a cell of the skipped row is near enough too.
    if (nearest > maxDistance) return current;
    [twoRowsBack, rowBefore, current] = [rowBefore, current, twoRowsBack];
  }
  return rowBefore;
}

function isSwap(
  typed: readonly number[],
  row: number,
  characters: readonly number[],
  column: number,
): boolean {
  return (
    row > 1 &&
    column > 1 &&
    typed[row - 1] === characters[column - 2] &&
    typed[row - 2] === characters[column - 1]
  );
}

function bestMatch(
  distances: readonly number[],
  typedLength: number,
  characters: readonly number[],
  maxDistance: number,
): TypoMatch | undefined {
  const distance = Math.min(...distances);
  if (distance > maxDistance) return undefined;
  const lengthDifferences = distances.flatMap((cell, k) => (cell === distance ? [k - maxDistance] : []));
  const difference = lengthDifferences.reduce((best, candidate) =>
    Math.abs(candidate) <= Math.abs(best) ? candidate : best,
  );
  const length = typedLength + difference;
  return { distance, end: String.fromCodePoint(...characters.slice(0, length)).length };
}

/** The first `limit` code points of the text. */
function codePoints(text: string, limit: number): readonly number[] {
  const characters: number[] = [];
  for (let index = 0; index < text.length && characters.length < limit;) {
    const codePoint = text.codePointAt(index) ?? 0;
    characters.push(codePoint);
    index += codePoint > 0xffff ? 2 : 1;
  }
  return characters;
}
