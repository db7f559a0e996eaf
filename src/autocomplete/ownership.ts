import type { EntryAmount } from './quota/entry-amount';

/** The owner of a dictionary, and the entries that count for the owner's quota. */
export type StoredUsage =
  | {
      readonly kind: 'used';
      /** The identity that created the dictionary. Empty: nobody. */
      readonly owner: string;
      /** The live entries. A large put counts when its entries are in the buckets. */
      readonly amount: EntryAmount;
    }
  /** The dictionary does not exist. An import may create it, or the store still has keys of it. */
  | { readonly kind: 'unknown' }
  /** The store has no key of the dictionary. */
  | { readonly kind: 'gone' };

/** The port to the owners of dictionaries. The methods reject with a `StoreFailure`. */
export interface OwnershipStore {
  usage(name: string): Promise<StoredUsage>;
  /**
   * The names in the list of an owner after the name `after`, in byte order. Such a dictionary may not exist, or may have
   * another owner.
   */
  owned(owner: string, after: string | undefined, limit: number): Promise<readonly string[]>;
  registerOwned(owner: string, name: string): Promise<void>;
  unregisterOwned(owner: string, name: string): Promise<void>;
}
