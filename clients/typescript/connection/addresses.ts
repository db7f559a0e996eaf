/** The address of a server: "host:port". */
export type Addresses = string | readonly string[];

/** Throws a RangeError for an empty list or an address without a port. */
export function addressList(addresses: Addresses): readonly string[] {
  const list = typeof addresses === 'string' ? addresses.split(',').map((one) => one.trim()) : [...addresses];
  if (list.length === 0) throw new RangeError('connect needs at least one address');
  for (const address of list) {
    if (!/:\d+$/.test(address)) throw new RangeError(`an address must be "host:port", not "${address}"`);
  }
  return list;
}
