import { readOf, dictionaryText } from '../autocomplete-errors';
import type { Clock } from '../../base/clock';
import { DictionaryOwners } from './dictionary-owners';
import { amountOf, NOTHING } from './entry-amount';
import { ImportQuota } from './import-quota';
import type { OwnedDictionaries } from './owned-dictionaries';
import type { OwnershipStore } from '../ownership';
import { QuotaCheck } from './quota-check';
import { UsageAccounts, type UsageAccount } from './usage-accounts';
import type { StoredEntry } from '../suggestion';
import { hasEntryQuota, type Writer } from './writer';

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
