import type { Recent } from './suggestion';

/** Which recent of a list: by its entry id if it has one, else by its text, to the letter. */
export type RecentIdentity = Pick<Recent, 'entryId' | 'text'>;

/**
 * The port to the store's lists of recents. Each method is one atomic step on one list, and rejects with a
 * `StoreFailure` when it was not answered. Within one call a step is sent again when its connection breaks: what is
 * taken away is taken away once, and answered as it was; an `add` may count twice, the second time in front of, or
 * after the removal by, whoever came between. A call that is repeated by its caller is a new one.
 */
export interface RecentsStore {
  /**
   * Puts it in front, in place of the same one if that is in the list. The list then keeps its `capacity` (from 1) most
   * recent, or those of them that fit in 512 KiB: 1,000 of 400 bytes, about 240 of the greatest size. The time after
   * which an idle list goes begins anew. Refused when the store is full.
   */
  add(list: string, recent: Recent, capacity: number): Promise<void>;
  /** False: there was none. The last one takes the list with it. */
  remove(list: string, which: RecentIdentity): Promise<boolean>;
  /** All, the most recent first; none if there is no such list. Writes nothing. */
  read(list: string): Promise<readonly Recent[]>;
  /** Forgets the list. False: there was none. */
  drop(list: string): Promise<boolean>;
}
