import { invalidOption } from '../time-span';

/** The address of a server: "host:port". */
export type Addresses = string | readonly string[];

/** Throws an InvalidRequestError for an empty list or an address without a port. */
export function addressList(addresses: Addresses): readonly string[] {
  const list = typeof addresses === 'string' ? addresses.split(',').map((one) => one.trim()) : [...addresses];
  if (list.length === 0) throw invalidOption('addresses', 'a list with at least one address');
  for (const address of list) {
    if (!/:\d+$/.test(address)) throw invalidOption('an address', `"host:port", not "${address}"`);
  }
  return list;
}
