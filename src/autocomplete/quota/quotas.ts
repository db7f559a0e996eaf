import type { Clock } from '../../base/clock';
import { dictionaryText, readOf } from '../autocomplete-errors';
import type { OwnershipStore } from '../entry-store';
import type { StoredEntry } from '../suggestion';
import { amountOf, hasEntryQuota, NOTHING, type Writer } from './amount';
import { ImportQuota, QuotaCheck } from './check';
import { type OwnedDictionaries, type UsageAccount, UsageAccounts } from './usage';

/** Another server may have deleted the dictionary, and another identity may have created it again. */
const KEEP_MS = 5000;
const MOST_OWNERS = 1000;

/** The owners of the dictionaries that were written last. */
export class DictionaryOwners {
  private readonly known = new Map<string, { readonly owner: string; readonly readAt: number }>();

  constructor(
    private readonly store: Pick<OwnershipStore, 'usage'>,
    private readonly clock: Clock,
  ) {}

  /** Empty: nobody. Undefined: the dictionary does not exist. Rejects with a `StoreFailure`. */
  async ownerOf(name: string): Promise<string | undefined> {
    const readAt = this.clock.now();
    const known = this.known.get(name);
    if (known !== undefined && readAt - known.readAt <= KEEP_MS) return known.owner;
    const usage = await this.store.usage(name);
    this.known.delete(name);
    if (usage.kind !== 'used') return undefined;
    const oldest = this.known.keys().next();
    if (this.known.size >= MOST_OWNERS && !oldest.done) this.known.delete(oldest.value);
    this.known.set(name, { owner: usage.owner, readAt });
    return usage.owner;
  }

  /** Called when this server has deleted the dictionary. */
  forget(name: string): void {
    this.known.delete(name);
  }
}

/**
 * The quotas `entries` and `bytes`. A write counts with the dictionaries of its caller, and with the dictionaries of the
 * owner of the dictionary (docs/design/autocomplete.md, "Owners and quotas"). A caller without these quotas costs nothing.
 */
export class EntryQuotas {
  private readonly accounts: UsageAccounts;
  private readonly owners: DictionaryOwners;

  constructor(
    store: Pick<OwnershipStore, 'usage'>,
    owned: OwnedDictionaries,
    private readonly clock: Clock,
  ) {
    this.accounts = new UsageAccounts(store, owned, clock);
    this.owners = new DictionaryOwners(store, clock);
  }

  /** Throws if the caller has more than its quota. */
  async checkCreation(dictionary: string, writer: Writer): Promise<void> {
    if (!hasEntryQuota(writer)) return;
    const own = this.accounts.ofOwner(writer.identity).whole;
    await new QuotaCheck({ writer, dictionary, own, clock: this.clock }).admit(NOTHING);
  }

  /** Puts entries if they fit into the quota. */
  async put<T>(
    dictionary: string,
    writer: Writer,
    entries: readonly StoredEntry[],
    write: () => Promise<T>,
  ): Promise<T> {
    if (!hasEntryQuota(writer)) return write();
    const own = this.accounts.ofOwner(writer.identity);
    const charged = await this.chargedFor(dictionary, own);
    const foreign = charged === own ? undefined : charged.whole;
    const check = new QuotaCheck({ writer, dictionary, own: own.whole, foreign, clock: this.clock });
    const end = await check.admit(amountOf(entries), charged.writes);
    return write().finally(end);
  }

  /** Undefined: the caller has no quota. Throws if the caller has more than its quota. */
  async startImport(dictionary: string, writer: Writer): Promise<ImportQuota | undefined> {
    if (!hasEntryQuota(writer)) return undefined;
    const own = this.accounts.ofOwner(writer.identity);
    const charged = await this.chargedFor(dictionary, own);
    const foreign = charged === own ? undefined : charged.without(dictionary);
    const ownOthers = own.without(dictionary);
    const check = new QuotaCheck({ writer, dictionary, own: ownOthers, foreign, clock: this.clock });
    await check.admit(NOTHING);
    return new ImportQuota(check, charged.writes);
  }

  /** Called when this server has deleted the dictionary, which may get another owner. */
  forget(dictionary: string): void {
    this.owners.forget(dictionary);
  }

  /** The account that gets the entries. A dictionary that does not exist yet is the caller's. */
  private async chargedFor(dictionary: string, own: UsageAccount): Promise<UsageAccount> {
    const owner = await readOf(this.owners.ownerOf(dictionary), dictionaryText(dictionary));
    if (owner === undefined) return own;
    return owner === '' ? this.accounts.ofUnowned(dictionary) : this.accounts.ofOwner(owner);
  }
}
