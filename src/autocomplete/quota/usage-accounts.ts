import type { Clock } from '../../base/clock';
import { NOTHING, type EntryAmount } from './entry-amount';
import { KeptUsage } from './kept-usage';
import { LocalWrites } from './local-writes';
import type { OwnedDictionaries } from './owned-dictionaries';
import type { OwnershipStore } from '../ownership';
import { ReadTurns } from './read-turns';

/** Accounts in memory. An account takes a few hundred bytes. A forgotten account is read again. */
const MOST_ACCOUNTS = 1000;

/** The dictionaries of one owner, or one dictionary without an owner. */
export class UsageAccount {
  readonly writes = new LocalWrites();
  private readonly turns: ReadTurns;
  /** The sum of all dictionaries of the account. */
  readonly whole: KeptUsage;

  constructor(
    private readonly read: (except?: string) => Promise<EntryAmount>,
    private readonly clock: Clock,
  ) {
    this.turns = new ReadTurns(clock);
    this.whole = new KeptUsage(() => read(), this.writes, this.turns, clock);
  }

  /** The sum of all dictionaries of the account except one. */
  without(dictionary: string): KeptUsage {
    return new KeptUsage(() => this.read(dictionary), this.writes, this.turns, this.clock);
  }
}

/** The accounts of the callers that have written last. */
export class UsageAccounts {
  private readonly accounts = new Map<string, UsageAccount>();

  constructor(
    private readonly store: Pick<OwnershipStore, 'usage'>,
    private readonly owned: OwnedDictionaries,
    private readonly clock: Clock,
  ) {}

  ofOwner(owner: string): UsageAccount {
    return this.account(`owner ${owner}`, (except) => this.owned.usage(owner, except));
  }

  /** The account of a dictionary without an owner. */
  ofUnowned(name: string): UsageAccount {
    return this.account(`dictionary ${name}`, async (except) => {
      if (name === except) return NOTHING;
      const usage = await this.store.usage(name);
      return usage.kind === 'used' ? usage.amount : NOTHING;
    });
  }

  private account(key: string, read: (except?: string) => Promise<EntryAmount>): UsageAccount {
    const account = this.accounts.get(key) ?? new UsageAccount(read, this.clock);
    this.accounts.delete(key);
    if (this.accounts.size >= MOST_ACCOUNTS) this.forgetOldest();
    this.accounts.set(key, account);
    return account;
  }

  /** Forgets the account that was not used for the longest time. An account with a write in flight must stay. */
  private forgetOldest(): void {
    for (const [key, { writes }] of this.accounts) {
      if (!writes.isIdle) continue;
      this.accounts.delete(key);
      return;
    }
  }
}
