import { NOTHING, plus, type EntryAmount } from './entry-amount';
import type { OwnershipStore } from '../ownership';

/** The dictionaries that one step reads at the same time. */
const NAMES_PER_STEP = 64;
/**
 * How many names each creation examines. A creation adds one name and examines two, so at most about half of the names
 * in a list belong to dictionaries that are gone.
 */
const NAMES_PER_CREATION = 2;
const MOST_POSITIONS = 1000;

/** Adds up the dictionaries of an owner. Removes the names of other dictionaries from the list of the owner. */
export class OwnedDictionaries {
  /** By owner: the names that a failed command may have removed, or may still remove, from the list of the owner. */
  private readonly maybeUnlisted = new Map<string, Set<string>>();
  /** By owner: the last examined name. */
  private readonly positions = new Map<string, string>();

  constructor(private readonly store: OwnershipStore) {}

  /** The sum of all dictionaries of the owner except one. Rejects with a `StoreFailure`. */
  async usage(owner: string, except?: string): Promise<EntryAmount> {
    for (const name of this.maybeUnlisted.get(owner) ?? []) await this.listAgain(owner, name);
    let sum = NOTHING;
    let after: string | undefined;
    for (;;) {
      const names = await this.store.owned(owner, after, NAMES_PER_STEP);
      const wanted = names.filter((name) => name !== except);
      const amounts = await Promise.all(wanted.map((name) => this.amountOf(owner, name)));
      sum = amounts.reduce(plus, sum);
      if (names.length < NAMES_PER_STEP) return sum;
      after = names.at(-1);
    }
  }

  /**
   * Examines the next names in the list of an owner. Called after each creation, because the list of an owner without a
   * quota is never added up.
   */
  async examineSome(owner: string): Promise<void> {
    const names = await this.store.owned(owner, this.positions.get(owner), NAMES_PER_CREATION);
    this.positions.delete(owner);
    const last = names.at(-1);
    if (last !== undefined && names.length === NAMES_PER_CREATION) {
      const oldest = this.positions.keys().next();
      if (this.positions.size >= MOST_POSITIONS && !oldest.done) this.positions.delete(oldest.value);
      this.positions.set(owner, last);
    }
    for (const name of names) await this.amountOf(owner, name);
  }

  private async amountOf(owner: string, name: string): Promise<EntryAmount> {
    const usage = await this.store.usage(name);
    if (usage.kind === 'used' && usage.owner === owner) return usage.amount;
    // An import that is in progress may create the dictionary, so its name stays.
    if (usage.kind !== 'unknown') await this.unlist(owner, name);
    return NOTHING;
  }

  private async unlist(owner: string, name: string): Promise<void> {
    const names = this.maybeUnlisted.get(owner) ?? new Set();
    this.maybeUnlisted.set(owner, names.add(name));
    await this.store.unregisterOwned(owner, name);
    // Another call may have created the dictionary, and listed its name just before this server removed the name.
    await this.listAgain(owner, name);
  }

  private async listAgain(owner: string, name: string): Promise<void> {
    const usage = await this.store.usage(name);
    if (usage.kind === 'used' && usage.owner === owner) await this.store.registerOwned(owner, name);
    const names = this.maybeUnlisted.get(owner);
    names?.delete(name);
    if (names?.size === 0) this.maybeUnlisted.delete(owner);
  }
}
