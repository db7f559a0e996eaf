import { createHash } from 'node:crypto';
import { sha256 } from '../base/text';
import type { Resource, Service } from '../leases/lease';

/**
 * CRC16 maps each name to a bucket, and the bucket is the hash tag of all keys of its names. So all keys of a name, and
 * all names of a bucket, are on one node of a Redis Cluster.
 */
export const BUCKET_COUNT = 1024;

/** CRC-16/XMODEM, as Redis Cluster uses it. */
const crcTable = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit += 1) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1;
  return crc & 0xffff;
});

/** A text of ASCII characters needs no copy of its bytes. */
function crc16(text: string): number {
  let crc = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code > 0x7f) return crc16OfBytes(Buffer.from(text, 'utf8'));
    crc = nextCrc(crc, code);
  }
  return crc;
}

function crc16OfBytes(bytes: Uint8Array): number {
  return bytes.reduce(nextCrc, 0);
}

function nextCrc(crc: number, byte: number): number {
  return ((crc << 8) & 0xffff) ^ (crcTable[(crc >> 8) ^ byte] as number);
}

export function bucketOf(name: string): number {
  return crc16(name) % BUCKET_COUNT;
}

export const SLOT_COUNT = 16_384;

const bucketSlots = Array.from({ length: BUCKET_COUNT }, (_, bucket) => crc16(String(bucket)) % SLOT_COUNT);

/** The slot of all keys of a bucket in Redis Cluster. */
export function slotOfBucket(bucket: number): number {
  return bucketSlots[bucket] as number;
}

/** The buckets of each slot that has buckets. */
export const bucketsBySlot: ReadonlyMap<number, readonly number[]> = bucketSlots.reduce(
  (map, slot, bucket) => map.set(slot, [...(map.get(slot) ?? []), bucket]),
  new Map<number, number[]>(),
);

/** The slot of a key of this service. The hash tag follows the key's prefix. */
export function slotOfKey(key: string): number {
  const tag = key.slice(key.indexOf('{') + 1, key.indexOf('}'));
  return bucketSlots[Number(tag)] ?? crc16(tag) % SLOT_COUNT;
}

/**
 * A key in the same slot that never exists. While the slot moves between nodes, Redis Cluster refuses a script with
 * such a key (TRYAGAIN). Without this key, a script could find only some of a name's keys, or fail in the middle at a
 * key that the node may no longer create.
 */
export function absentKey(key: string): string {
  return inSlotOf(key, 'absent');
}

/** The key of the mark that follows a change, in the slot of the change (redis/scripts/replication-mark.lua). */
export function markKey(key: string): string {
  return inSlotOf(key, 'mark');
}

function inSlotOf(key: string, part: string): string {
  return `${key.slice(0, key.indexOf('}') + 1)}:${part}`;
}

/** The version of the layout of leases (leases/scripts/shared/layout.lua). Keys and epochs contain the version. */
export const LEASE_LAYOUT = 2;

const serviceLetters = { lock: `l${LEASE_LAYOUT}`, semaphore: `s${LEASE_LAYOUT}` } as const;

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
  return [`${prefix}:{${bucket}}:${serviceLetters[service]}:names`, epochKey(prefix, bucket)];
}

/** The position of the bucket's epoch among the keys of a resource. */
export const EPOCH_AT = 1;

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
      state: `${prefix}:{${index}}:${serviceLetters[service]}:state:`,
      epoch: epochKey(prefix, index),
    }));
    if (heads[service].size >= MOST_CACHED_PREFIXES) heads[service].clear();
    heads[service].set(prefix, ofPrefix);
  }
  return ofPrefix[bucket] as KeyHeads;
}

/** The epoch of a bucket (redis/scripts/epoch-adopt.lua). No key of a name has this form. */
export function epochKey(prefix: string, bucket: number): string {
  return `${prefix}:{${bucket}}:epoch`;
}

/** The resource of a `state` key; undefined if the key is no state key of this prefix. */
export function resourceOfStateKey(prefix: string, key: string): Resource | undefined {
  if (!key.startsWith(`${prefix}:{`)) return undefined;
  const close = key.indexOf('}:', prefix.length + 2);
  if (close < 0) return undefined;
  const found = Object.entries(serviceLetters).find(([, letter]) =>
    key.startsWith(`${letter}:state:`, close + 2),
  );
  if (!found) return undefined;
  const [service, letter] = found as [Service, string];
  return { service, name: key.slice(close + 2 + `${letter}:state:`.length) };
}

export function recentsKey(prefix: string, list: string): string {
  return `${prefix}:{${bucketOf(list)}}:r:list:${list}`;
}

/** The key that marks one removal from a list as done, so that the removal can be sent again. In the list's slot. */
export function recentsRemovalKey(prefix: string, list: string, removalId: string): string {
  return `${prefix}:{${bucketOf(list)}}:r:removal:${removalId}`;
}

/**
 * The channel that tells a server to recheck requests for names of a bucket (`send_hint` in the scripts). The channel
 * has the bucket's hash tag, so in Redis Cluster a server listens at the node where the scripts run.
 */
export function wakeChannel(prefix: string, bucket: number, serverId: string): string {
  return `${prefix}:{${bucket}}:wake:${serverId}`;
}

/** The key of the sorted list of all dictionary names. */
export function dictionaryNamesKey(prefix: string): string {
  return `${prefix}:{dictionaries}:names`;
}

const OWNER_DIGITS = 32;

/** The key of the sorted list of the dictionaries of an owner. In the slot of the list of all names. */
export function ownedNamesKey(prefix: string, owner: string): string {
  const digest = sha256(owner).slice(0, OWNER_DIGITS);
  return `${prefix}:{dictionaries}:owned:${digest}`;
}

const TAG_DIGITS = 16;
const tagsByName = new Map<string, string>();
/** Enough for the dictionaries that a server is asked for at the same time. */
const MOST_CACHED_TAGS = 10_000;

/**
 * The only key of a dictionary's entries in the scripts' KEYS. The scripts derive the other keys from it. Each dictionary
 * has a hash tag of its own, in a slot without buckets of leases: while a slot with a large dictionary moves between nodes,
 * no lease waits.
 */
export function entriesKey(prefix: string, name: string): string {
  return `${prefix}:{${entriesTag(name)}}:d:meta:${name}`;
}

function entriesTag(name: string): string {
  const known = tagsByName.get(name);
  if (known !== undefined) return known;
  const hash = `d${createHash('sha1').update(name).digest('hex').slice(0, TAG_DIGITS)}`;
  let tag = hash;
  for (let suffix = 0; bucketsBySlot.has(crc16(tag) % SLOT_COUNT); suffix += 1) tag = `${hash}${suffix}`;
  if (tagsByName.size >= MOST_CACHED_TAGS) tagsByName.clear();
  tagsByName.set(name, tag);
  return tag;
}
