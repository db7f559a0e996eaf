/** The names that the caller of a list may read. The order of names is the order of their bytes in UTF-8. */
export interface ReadableNames {
  mayRead(name: string): boolean;
  /**
   * A place behind a name that the caller may not read. No readable name lies between the name and the place.
   * Undefined: no readable name follows. The result tells nothing about names in the store.
   */
  nextReadable(name: string): string | undefined;
}

export const EVERY_NAME: ReadableNames = { mayRead: () => true, nextReadable: (name) => name };

/**
 * The place before the first readable name with this prefix. Empty: the beginning. Undefined: no name with this prefix
 * is readable.
 */
export function firstPlace(names: ReadableNames, prefix: string): string | undefined {
  return names.mayRead(prefix) ? '' : placeAfter(names, prefix, prefix);
}

/**
 * The place at which a list continues after a name with this prefix. Undefined: no readable name with this prefix
 * follows. So a list passes over any number of names that its caller may not read.
 */
export function placeAfter(names: ReadableNames, prefix: string, name: string): string | undefined {
  if (names.mayRead(name)) return name;
  const place = names.nextReadable(name);
  return place?.startsWith(prefix) === true ? place : undefined;
}
