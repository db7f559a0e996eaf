import { types } from 'node:util';

/** Texts that others see beside a lease, for example a host name. */
export type Metadata = Readonly<Record<string, string>> | ReadonlyMap<string, string>;

/** A copy, because the caller may change the map while an acquire waits. */
export function metadataMap(metadata: Metadata): ReadonlyMap<string, string> {
  // A map may come from another realm, so its class says nothing.
  return new Map(types.isMap(metadata) ? metadata : Object.entries(metadata));
}
