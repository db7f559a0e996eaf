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

/**
 * The version of the layout of leases (leases/scripts/shared/layout.lua). The keys of leases contain the version, and so
 * does the text of an epoch, but not its key.
 */
export const LEASE_LAYOUT = 2;

/** The position of the bucket's epoch among the keys of a resource. */
export const EPOCH_AT = 1;

/** The epoch of a bucket (redis/scripts/epoch-adopt.lua). No key of a name has this form. */
export function epochKey(prefix: string, bucket: number): string {
  return `${prefix}:{${bucket}}:epoch`;
}

/** The libraries of functions that are in use on the Redis with this bucket (redis/scripts/library-note.lua). */
export function librariesKey(prefix: string, bucket: number): string {
  return `${prefix}:{${bucket}}:libraries`;
}

/**
 * The channel that tells a server to recheck requests for names of a bucket (`send_hint` in the scripts). The channel
 * has the bucket's hash tag, so in Redis Cluster a server listens at the node where the scripts run.
 */
export function wakeChannel(prefix: string, bucket: number, serverId: string): string {
  return `${prefix}:{${bucket}}:wake:${serverId}`;
}
