import type { RecentIdentity } from '../recents-store';
import type { Recent } from '../suggestion';
import type { RawReply } from '../../redis/script-command';

/** How a recent is stored: two elements of a Redis list, described in scripts/autocomplete/shared/recents.lua. */

const WITH_ID = 'i';
const WITHOUT_ID = 't';
/** The first byte of each value. If the recent has an id, the length of its text follows. */
const MARK = Buffer.from('v');
const LENGTH_BYTES = 2;

export function identityOf({ entryId, text }: RecentIdentity): string {
  return entryId === '' ? WITHOUT_ID + text : WITH_ID + entryId;
}

/** A recent without an id has its text in its identity. A text has less than 64 KiB. */
export function valueOf({ entryId, text, payload }: Recent): Buffer {
  if (entryId === '') return Buffer.concat([MARK, payload]);
  const bytes = Buffer.from(text);
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt16LE(bytes.length);
  return Buffer.concat([MARK, length, bytes, payload]);
}

/** The elements of a list are identity and value in turn. */
export function readRecents(elements: readonly RawReply[]): Recent[] {
  const recents: Recent[] = [];
  for (let i = 0; i + 1 < elements.length; i += 2) {
    recents.push(readRecent(elements[i] as Buffer, elements[i + 1] as Buffer));
  }
  return recents;
}

function readRecent(identity: Buffer, value: Buffer): Recent {
  const name = identity.toString('utf8', 1);
  if (identity[0] === WITHOUT_ID.charCodeAt(0)) {
    return { entryId: '', text: name, payload: value.subarray(MARK.length) };
  }
  const start = MARK.length + LENGTH_BYTES;
  const end = start + value.readUInt16LE(MARK.length);
  return { entryId: name, text: value.toString('utf8', start, end), payload: value.subarray(end) };
}
