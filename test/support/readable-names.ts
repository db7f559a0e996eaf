import type { ReadableNames } from '../../src/base/names';
import { AllowedPlaces } from '../../src/access/prefixes';

/** The readable names by a condition. No name is passed over. */
export const namesWhere = (mayRead: (name: string) => boolean): ReadableNames => ({
  mayRead,
  nextReadable: (name) => name,
});

/** The names with this prefix are readable. */
export function namesUnder(prefix: string): ReadableNames {
  const places = new AllowedPlaces([{ prefix, isAllowed: true, isAllowedAround: false }]);
  return { mayRead: (name) => name.startsWith(prefix), nextReadable: (name) => places.next(name) };
}
