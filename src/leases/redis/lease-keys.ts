import { BUCKET_COUNT, bucketOf, epochKey, LEASE_LAYOUT } from '../../redis/buckets';
import type { Resource, Service } from '../lease';

const serviceTags = { lock: `l${LEASE_LAYOUT}`, semaphore: `s${LEASE_LAYOUT}` } as const;

/**
 * The keys of a resource for the scripts, which derive the other keys from the first (leases/scripts/shared/layout.lua).
 * The first key looks like `holdfast:{17}:l2:state:NAME`. The name comes last and unchanged, so no name can form a key of
 * another name. Redis reads the hash tag from the first brace, which precedes the name. The second key is the epoch of
 * the bucket.
 */
export function leaseKeys(prefix: string, { service, name }: Resource): [state: string, epoch: string] {
  const { state, epoch } = keyHeads(prefix, bucketOf(name), service);
  return [state + name, epoch];
}

/**
 * The keys of a bucket's index of names for the scripts, such as `holdfast:{17}:l2:names`, and of the bucket's epoch. No key
 * of a name has this form.
 */
export function namesKeys(prefix: string, service: Service, bucket: number): [names: string, epoch: string] {
  return [`${prefix}:{${bucket}}:${serviceTags[service]}:names`, epochKey(prefix, bucket)];
}

interface KeyHeads {
  readonly state: string;
  readonly epoch: string;
}

/** Of each service, by prefix and bucket. A process has one prefix, or a few in tests. */
const heads: Record<Service, Map<string, KeyHeads[]>> = { lock: new Map(), semaphore: new Map() };
const MOST_CACHED_PREFIXES = 16;

/** The text before the name in the key of a resource, and the bucket's epoch. Cached, because every call needs it. */
function keyHeads(prefix: string, bucket: number, service: Service): KeyHeads {
  let ofPrefix = heads[service].get(prefix);
  if (ofPrefix === undefined) {
    ofPrefix = Array.from({ length: BUCKET_COUNT }, (_, index) => ({
      state: `${prefix}:{${index}}:${serviceTags[service]}:state:`,
      epoch: epochKey(prefix, index),
    }));
    if (heads[service].size >= MOST_CACHED_PREFIXES) heads[service].clear();
    heads[service].set(prefix, ofPrefix);
  }
  return ofPrefix[bucket] as KeyHeads;
}

/** The resource of a `state` key; undefined if the key is no state key of this prefix. */
export function resourceOfStateKey(prefix: string, key: string): Resource | undefined {
  if (!key.startsWith(`${prefix}:{`)) return undefined;
  const close = key.indexOf('}:', prefix.length + 2);
  if (close < 0) return undefined;
  const found = Object.entries(serviceTags).find(([, tag]) => key.startsWith(`${tag}:state:`, close + 2));
  if (!found) return undefined;
  const [service, tag] = found as [Service, string];
  return { service, name: key.slice(close + 2 + `${tag}:state:`.length) };
}

const REQUEST_ID_LENGTH = 36;

/** In place of a request id: something has changed that watches of the resource show (leases/scripts/shared/servers.lua). */
export const RESOURCE_CHANGED = '00000000-0000-0000-0000-000000000000';

/** Asks this server to recheck a request, or the whole resource. */
export interface Hint {
  readonly resource: Resource;
  readonly requestId: string;
}

/** Decodes a message of `tell_server` (leases/scripts/shared/servers.lua). Undefined: the message is no hint. */
export function readHint(prefix: string, message: string): Hint | undefined {
  const resource = resourceOfStateKey(prefix, message.slice(REQUEST_ID_LENGTH));
  return resource && { resource, requestId: message.slice(0, REQUEST_ID_LENGTH) };
}
