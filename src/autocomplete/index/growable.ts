type GrowableArray = Uint8Array | Uint32Array | Float64Array;

/** An array that grows by less than this factor would be copied too often. */
const GROWTH = 1.5;

/** Returns an array of at least this length with the same elements: the array itself if it is long enough. */
export function grown<T extends GrowableArray>(array: T, neededLength: number): T {
  if (neededLength <= array.length) return array;
  const Constructor = array.constructor as new (length: number) => T;
  const larger = new Constructor(Math.max(neededLength, Math.ceil(array.length * GROWTH)));
  larger.set(array);
  return larger;
}
