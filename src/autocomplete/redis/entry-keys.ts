import { createHash, randomBytes } from 'node:crypto';
import { sha256 } from '../../base/text';
import { bucketOf, bucketsBySlot, slotOfKey } from '../../redis/buckets';

/** The keys and ids of recents and dictionaries in Redis. All keys of a list, and all keys of a dictionary, are in one slot. */

export function recentsKey(prefix: string, list: string): string {
  return `${prefix}:{${bucketOf(list)}}:r:list:${list}`;
}

/** The key that marks one removal from a list as done, so that the removal can be sent again. In the list's slot. */
export function recentsRemovalKey(prefix: string, list: string, removalId: string): string {
  return `${prefix}:{${bucketOf(list)}}:r:removal:${removalId}`;
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
  for (let suffix = 0; bucketsBySlot.has(slotOfKey(`{${tag}}`)); suffix += 1) tag = `${hash}${suffix}`;
  if (tagsByName.size >= MOST_CACHED_TAGS) tagsByName.clear();
  tagsByName.set(name, tag);
  return tag;
}

/** The key of a chunk of a put before the put is committed. `key` is the `entriesKey` of the dictionary. */
export function chunkKey(key: string, writeId: string, number: number): string {
  return `${key.slice(0, key.indexOf('}:d:') + '}:d:'.length)}stage:${writeId}:${number}`;
}

/** The bits of an id that must not be used twice. 96 bits suffice for 10^12 writes. */
const WRITE_ID_BYTES = 12;
const GENERATION_ID_BYTES = 16;

export function newWriteId(): string {
  return randomBytes(WRITE_ID_BYTES).toString('base64url');
}

/** The random id also prevents that clients choose entry ids that share a bucket. */
export function newGenerationId(): string {
  return randomBytes(GENERATION_ID_BYTES).toString('base64url');
}
