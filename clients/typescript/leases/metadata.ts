/** Texts that others see beside a lease, for example a host name. */
export type Metadata = Readonly<Record<string, string>> | ReadonlyMap<string, string>;

export function metadataMap(metadata: Metadata): ReadonlyMap<string, string> {
  return metadata instanceof Map ? metadata : new Map(Object.entries(metadata));
}
