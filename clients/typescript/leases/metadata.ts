import { types } from 'node:util';
import { invalidOption } from '../time-span';

/** Texts that others see beside a lease, for example a host name. */
export type Metadata = Readonly<Record<string, string>> | ReadonlyMap<string, string>;

/**
 * A copy, because the caller may change the map while an acquire waits. Throws an InvalidRequestError for a list, a set or
 * a value that is no object.
 */
export function metadataMap(metadata: Metadata): ReadonlyMap<string, string> {
  const isObject = typeof metadata === 'object' && metadata !== null;
  const isMetadata = isObject && (types.isMap(metadata) || !(Symbol.iterator in metadata));
  if (!isMetadata) throw invalidOption('metadata', 'an object or a map of texts');
  // A map may come from another realm, so its class says nothing.
  return new Map(types.isMap(metadata) ? metadata : Object.entries(metadata));
}
