import { invalidOption } from '../time-span';

/** The address of a server: "host:port". */
export type Addresses = string | readonly string[];

/** An IPv6 address needs brackets, because gRPC takes the port of `::1:5005` as a part of the address. */
const HOST_AND_PORT = /^(?:[^:/\s[\]]+|\[[^/\s[\]]+\]):(\d{1,5})$/;

/** Throws an InvalidRequestError for an empty list, and for an address that no server can have. */
export function addressList(addresses: Addresses): readonly string[] {
  const lists: readonly unknown[] = Array.isArray(addresses) ? addresses : [addresses];
  const list = lists.flatMap(split);
  if (list.length === 0) throw invalidOption('addresses', 'a list with at least one address');
  return list;
}

function split(list: unknown): string[] {
  if (typeof list !== 'string') throw invalidOption('an address', `"host:port", not ${typeof list}`);
  return list.split(',').map((one) => checked(one.trim()));
}

/** A URL, or a port that no server has, would be tried again and again. */
function checked(address: string): string {
  const port = Number(HOST_AND_PORT.exec(address)?.[1]);
  if (!(port > 0 && port < 2 ** 16)) throw invalidOption('an address', `"host:port", not "${address}"`);
  return address;
}
