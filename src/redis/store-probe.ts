import type { StoreAddress } from '../base/redis-address';
import { probeAddress, type AddressFinding, type ProbeTarget } from './address-probe';
import { tlsOptions, type Security } from './endpoint';

/** What answers at one host of the store's address. */
export interface HostFinding {
  /** "host:port", or the path of a Unix socket. */
  readonly host: string;
  readonly found: AddressFinding;
}

const REDIS_PORT = 6379;

/** Finds out what answers at each host of the address: Redis, sentinels, or something else. Never rejects. */
export function probeStore(address: StoreAddress, security: Security): Promise<HostFinding[]> {
  const { tls } = tlsOptions(address.tls, security);
  return Promise.all(
    targetsOf(address).map(async (target) => ({
      host: shown(target),
      found: await probeAddress(target, tls),
    })),
  );
}

function shown(target: ProbeTarget): string {
  if ('path' in target) return target.path;
  const { host, port } = target;
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

function targetsOf(address: StoreAddress): readonly ProbeTarget[] {
  if (address.kind === 'sentinel') return address.sentinels;
  if (address.kind === 'cluster') return address.seeds;
  if (!/^rediss?:/.test(address.url)) return [{ path: address.url }];
  const { hostname, port } = new URL(address.url);
  return [{ host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port || REDIS_PORT) }];
}
