/** The IPv4 address, or the first 64 bits of the IPv6 address: one client may have all addresses of such a network. */
export function networkOf(address: string): string {
  const ipv4 = /^(?:::ffff:)?(\d+\.\d+\.\d+\.\d+)$/i.exec(address);
  if (ipv4?.[1] !== undefined) return ipv4[1];
  const [before = '', after = ''] = address.split('::');
  const groups = before.split(':').filter(Boolean);
  const rest = after.split(':').filter(Boolean);
  const zeros = Array<string>(Math.max(0, 8 - groups.length - rest.length)).fill('0');
  return [...groups, ...zeros, ...rest].slice(0, 4).join(':');
}

/** The address of a peer such as `10.0.0.7:50000`. */
export function addressOf(peer: string): string {
  return peer.replace(/:\d+$/, '');
}

/** Stands in the log for an address. */
export const SEVERAL_ADDRESSES = 'several addresses';
