import type { Resource, Service } from '../engine/leases/lease';

/**
 * Names map to this many buckets by CRC16, and the bucket is the hash tag of all keys of its names: so one
 * script sees all keys of a name in Redis Cluster too, and a bucket always lives on one node.
 */
export const BUCKET_COUNT = 1024;

/** CRC-16/XMODEM, as Redis Cluster uses it. */
const crcTable = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit += 1) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1;
  return crc & 0xffff;
});

function crc16(text: string): number {
  let crc = 0;
  for (const byte of Buffer.from(text, 'utf8')) {
    crc = ((crc << 8) & 0xffff) ^ (crcTable[(crc >> 8) ^ byte] as number);
  }
  return crc;
}

export function bucketOf(name: string): number {
  return crc16(name) % BUCKET_COUNT;
}

export const SLOT_COUNT = 16_384;

const bucketSlots = Array.from({ length: BUCKET_COUNT }, (_, bucket) => crc16(String(bucket)) % SLOT_COUNT);

/** The slot of Redis Cluster in which all keys of a bucket are. */
export function slotOfBucket(bucket: number): number {
  return bucketSlots[bucket] as number;
}

/** Buckets that share a slot, together. */
export const bucketsBySlot: ReadonlyMap<number, readonly number[]> = bucketSlots.reduce(
  (map, slot, bucket) => map.set(slot, [...(map.get(slot) ?? []), bucket]),
  new Map<number, number[]>(),
);

/** The slot of a key of ours, each of which has its tag right behind the prefix. */
export function slotOfKey(key: string): number {
  const tag = key.slice(key.indexOf('{') + 1, key.indexOf('}'));
  return bucketSlots[Number(tag)] ?? crc16(tag) % SLOT_COUNT;
}

/**
 * In the slot of that key, and never there. A script that is given it is refused by Redis Cluster (TRYAGAIN) as long as
 * the slot moves from one node to another. Else it could find one half of a name here and the other half gone, or be
 * stopped half-way by a key that it may not make any more.
 */
export function absentKey(key: string): string {
  return `${key.slice(0, key.indexOf('}') + 1)}:absent`;
}

const serviceLetters = { lock: 'l', semaphore: 's' } as const;

/** The keys of a resource, in the order of the scripts' KEYS (see scripts/prelude/permits/state.lua). */
const lockParts = ['state', 'ends', 'offers', 'queue', 'detached', 'ended', 'live', 'epoch'] as const;
const parts = { lock: lockParts, semaphore: [...lockParts, 'limit'] } as const;
/** Which of a resource's keys is its bucket's epoch. */
export const EPOCH_AT = lockParts.indexOf('epoch');

/**
 * Keys look like `holdfast:{17}:l:state:NAME`. The name comes last and whole, so whatever it contains it can
 * neither leave its place nor meet another name's keys; the hash tag is read from the first brace, which is
 * ours. One of them is the bucket's: its epoch.
 */
export function permitsKeys(prefix: string, { service, name }: Resource): string[] {
  const heads = keyHeads(prefix, bucketOf(name), service);
  return heads.map((head, at) => (at === EPOCH_AT ? head : head + name));
}

const knownHeads = new Map<string, readonly string[]>();
/** Those of all buckets, a few prefixes over. */
const MOST_KNOWN_HEADS = 16 * BUCKET_COUNT;

/** What stands before the name in each key of a bucket; remembered, for every call needs it. */
function keyHeads(prefix: string, bucket: number, service: Service): readonly string[] {
  const known = `${prefix}:{${bucket}}:${serviceLetters[service]}:`;
  let heads = knownHeads.get(known);
  if (heads === undefined) {
    heads = parts[service].map((part) => (part === 'epoch' ? epochKey(prefix, bucket) : `${known}${part}:`));
    if (knownHeads.size < MOST_KNOWN_HEADS) knownHeads.set(known, heads);
  }
  return heads;
}

/** The epoch of a bucket: scripts/epoch-adopt.lua. No name's key is spelt like it. */
export function epochKey(prefix: string, bucket: number): string {
  return `${prefix}:{${bucket}}:epoch`;
}

/** The resource whose `state` key this is; undefined if it is none of this prefix. */
export function resourceOfStateKey(prefix: string, key: string): Resource | undefined {
  if (!key.startsWith(`${prefix}:{`)) return undefined;
  const close = key.indexOf('}:', prefix.length + 2);
  if (close < 0) return undefined;
  const service = key.startsWith('l:state:', close + 2)
    ? 'lock'
    : key.startsWith('s:state:', close + 2)
      ? 'semaphore'
      : undefined;
  return service && { service, name: key.slice(close + 2 + 'l:state:'.length) };
}

/** Where a list of recents is. */
export function recentsKey(prefix: string, list: string): string {
  return `${prefix}:{${bucketOf(list)}}:r:list:${list}`;
}

/** What marks one removal from a list as done, so that it can be sent again; beside the list, in its slot. */
export function recentsRemovalKey(prefix: string, list: string, removalId: string): string {
  return `${prefix}:{${bucketOf(list)}}:r:removal:${removalId}`;
}

/**
 * Where a server hears which of its requests for names of a bucket to look at (see `wake` in the scripts). It has the
 * bucket's tag, so that in Redis Cluster whoever listens does so where the scripts run.
 */
export function wakeChannel(prefix: string, bucket: number, serverId: string): string {
  return `${prefix}:{${bucket}}:wake:${serverId}`;
}

/** The one key of a dictionary that scripts are given; the names of all others begin as it does. */
export function dictionaryKey(prefix: string, name: string): string {
  return `${prefix}:{${bucketOf(name)}}:d:meta:${name}`;
}

/** Where the names of all dictionaries are, in order. */
export function dictionaryNamesKey(prefix: string): string {
  return `${prefix}:{dictionaries}:names`;
}
