import { randomUUID } from 'node:crypto';
import { recentsAdd, recentsRemove } from '../../../generated/redis/scripts';
import { recentsKey, recentsRemovalKey } from './entry-keys';
import type { Commands } from '../../redis/commands';
import { type RawReply, type Script, script } from '../../redis/script';
import type { RecentIdentity, RecentsStore } from '../entry-store';
import type { Recent } from '../suggestion';

/** How a recent is stored: two elements of a Redis list, described in autocomplete/scripts/shared/recents.lua. */

const WITH_ID = 'i';
const WITHOUT_ID = 't';
/** The first byte of each value. If the recent has an id, the length of its text follows. */
const MARK = Buffer.from('v');
const LENGTH_BYTES = 2;

function identityOf({ entryId, text }: RecentIdentity): string {
  return entryId === '' ? WITHOUT_ID + text : WITH_ID + entryId;
}

/** A recent without an id has its text in its identity. A text has less than 64 KiB. */
function valueOf({ entryId, text, payload }: Recent): Buffer {
  if (entryId === '') return Buffer.concat([MARK, payload]);
  const bytes = Buffer.from(text);
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt16LE(bytes.length);
  return Buffer.concat([MARK, length, bytes, payload]);
}

/** The elements of a list are identity and value in turn. */
function readRecents(elements: readonly RawReply[]): Recent[] {
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

const scripts = { add: script(recentsAdd), remove: script(recentsRemove) };

/** Each new connection loads these scripts into Redis. */
export const recentsScripts: readonly Script[] = Object.values(scripts);

export interface RecentsStoreOptions {
  readonly commands: Commands;
  readonly prefix: string;
  /** How long a list stays after the last add (ms); undefined: for ever. */
  readonly retentionMs: number | undefined;
  /** How long one command may take, with all its retries (ms). */
  readonly commandTimeoutMs: number;
}

/** Stands for the whole list in place of an identity, because no identity is empty. */
const WHOLE_LIST = '';

/** Lists of recents: each method is one script, or one command of Redis. */
export class RedisRecentsStore implements RecentsStore {
  constructor(private readonly options: RecentsStoreOptions) {}

  add(list: string, recent: Recent, capacity: number): Promise<void> {
    const { commands, prefix, retentionMs } = this.options;
    const args = [identityOf(recent), valueOf(recent), capacity, retentionMs ?? ''];
    const keys = [recentsKey(prefix, list)];
    return commands.send({ run: scripts.add, keys, args, read: () => undefined, isRaw: true });
  }

  remove(list: string, identity: RecentIdentity): Promise<boolean> {
    return this.delete(list, identityOf(identity));
  }

  drop(list: string): Promise<boolean> {
    return this.delete(list, WHOLE_LIST);
  }

  read(list: string): Promise<readonly Recent[]> {
    const { commands, prefix } = this.options;
    const keys = [recentsKey(prefix, list)];
    return commands.send({ run: 'LRANGE', keys, args: [0, -1], read: readRecents, isRaw: true });
  }

  private delete(list: string, identity: string): Promise<boolean> {
    const { commands, prefix, commandTimeoutMs } = this.options;
    const keys = [recentsKey(prefix, list), recentsRemovalKey(prefix, list, randomUUID())];
    // Twice the time, because Redis's clock may run faster than ours.
    const args = [identity, 2 * commandTimeoutMs];
    return commands.send({ run: scripts.remove, keys, args, read: ([word]) => word === 'REMOVED' });
  }
}
