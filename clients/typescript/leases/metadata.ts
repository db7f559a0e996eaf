/** Texts that others see beside a lease, for example a host name. */
export type Metadata = Readonly<Record<string, string>> | ReadonlyMap<string, string>;

/** A copy, because each repetition sends the same as the first attempt. */
export function metadataMap(metadata: Metadata): ReadonlyMap<string, string> {
  return new Map(metadata instanceof Map ? metadata : Object.entries(metadata));
}
