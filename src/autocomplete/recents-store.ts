import type { Recent } from './suggestion';

/** Identifies a recent in its list by the entry id. A recent without an entry id is identified by its exact text. */
export type RecentIdentity = Pick<Recent, 'entryId' | 'text'>;

/**
 * The port to the store's lists of recents. Each method is one atomic step on one list, and rejects with a
 * `StoreFailure` if the store did not answer. A step is sent again if its connection breaks. A repeated removal has the
 * result of the first removal. A repeated `add` may move the recent in front of a newer recent, or undo a removal in
 * between.
 */
export interface RecentsStore {
  /**
   * Puts the recent in front, and removes the same recent further back. The list keeps the first `capacity` (at least
   * 1) recents, or fewer if they exceed 512 KiB: 1,000 recents of 400 bytes fit, or about 240 of the largest size.
   * Restarts the idle time after which the list expires. Fails if the store is out of memory.
   */
  add(list: string, recent: Recent, capacity: number): Promise<void>;
  /** False: the list had no such recent. Removing the last recent deletes the list. */
  remove(list: string, which: RecentIdentity): Promise<boolean>;
  /** All recents, the most recent first; empty if there is no list. Writes nothing. */
  read(list: string): Promise<readonly Recent[]>;
  /** Deletes the list. False: the list did not exist. */
  drop(list: string): Promise<boolean>;
}
